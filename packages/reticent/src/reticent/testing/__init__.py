"""What tests of algorithms share, here and in other packages: stages, canaries and honest bounds."""
