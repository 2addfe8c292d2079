"""The device side of the shuffle and local models: numpy and the standard library, no server code.

client = Client(billboard)     # tacit.client.shuffle or tacit.client.local; billboard: the public document
choice = client.choose(arms)
report = client.randomize(choice, reward)
"""
