"""The slow link between zones, and the page of the locality bench."""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import replace

from bench.link import HEADER, PACKET, message, packet_ids
from bench.locality.__main__ import page
from bench.locality.run import NODES, PINNED, Phase, Run, manifest, zones
from dev.localcluster.network import pod_addresses

from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec


def test_a_nodes_range_holds_its_pods_and_no_others() -> None:
    found = [ipaddress.ip_network(text, strict=False) for text in zones()]
    for number in range(NODES):
        for address in pod_addresses(number):
            holders = [n for n, net in enumerate(found) if ipaddress.ip_address(address) in net]
            assert holders == [number]


def test_the_numbers_of_packets_are_read_from_what_the_kernel_sends() -> None:
    other = (9, b"12345")
    packets = [message(PACKET, 77, other, (HEADER, struct.pack("!IHB", n, 0, 2))) for n in (7, 8)]
    noise = message(5, 77, (HEADER, struct.pack("!I", 99)))
    assert list(packet_ids(b"".join([packets[0], noise, packets[1]]))) == [7, 8]
    assert list(packet_ids(b"")) == []


def test_every_contender_is_a_pipeline_that_the_operator_takes() -> None:
    for contender in PINNED:
        spec = StreamPipelineSpec.model_validate(manifest(contender)["spec"])
        assert spec.limits.executors.max == 3


def test_the_page_has_a_row_for_each_step() -> None:
    phase = Phase("low", "Process", [1.0, 3.0, 2.0], 5000, 100, {"PROCESS_LOCAL": 3, "ANY": 1})
    run = Run("the tuner", [phase], ["ScopeWidened: loaded"], 0)
    first = Run("Process", [replace(phase, p95_s=[1.0], crossed_bytes=10_000)], [], 0)
    text = page([first, run], 20.0, "abc")
    assert "| Process | low | Process | 1.00 | 1.00 | 100 | 1.00 | 75% |" in text
    assert "| the tuner | low | Process | 2.00 | 2.00 | 50 | 0.50 | 75% |" in text
    assert "ScopeWidened: loaded" in text
    assert "Records lost: 0." in text
