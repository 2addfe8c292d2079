"""The shuffled sum of bounded vectors: how much noise its users add (`calibration`, and as published in `paper`). The
users' part is tacit.roles.shuffle, the shuffler's tacit.roles.shuffler, and the server's tacit.roles.analyzer."""
