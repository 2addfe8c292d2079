from tacit.cli import main

main()
