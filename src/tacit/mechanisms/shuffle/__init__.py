"""The shuffled sum of bounded vectors: how much noise its users add (`calibration`, and as published in `paper`), the
shuffler between users and server (`shuffler`), and what the server makes of its result (`analyzer`). The users' part is
tacit.roles.shuffle."""
