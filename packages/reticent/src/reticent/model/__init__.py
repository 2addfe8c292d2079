"""What is public about the problem: arms, links, and what one user contributes, with its sensitivity."""
