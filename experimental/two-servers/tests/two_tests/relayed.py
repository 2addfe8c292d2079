"""Reports to two aggregators arrive through deploy/relay.conf in a real nginx, where one is installed."""

import urllib.request

from devices_tests.service.roles.running import until
from reticent_devices.roles.outbox import post
from reticent_two.roles.device import TwoServerClient
from tests.deploy.relayed import folder as folder
from tests.deploy.relayed import relay

from .pair import ARMS, Pair


def test_reports_to_two_aggregators_arrive_through_the_relay(start, folder, tmp_path):
    """Boards come through it as well: who asks for one is as telling as who reports."""
    pair = Pair(start, tmp_path)
    pair.billboard()
    with relay(folder, pair.leader.port, tls=False) as address:
        with urllib.request.urlopen(f"{address}/billboard", timeout=10) as answer:
            device = TwoServerClient(answer.read(), identities=pair.identities)
        send = post(f"{address}/reports")
        assert [send(device.randomize(device.choose(ARMS), 1.0)) for _ in range(3)] == [True] * 3
        until(lambda: pair.status(0)["step"] == 1)
