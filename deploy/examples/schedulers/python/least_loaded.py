"""Picks the endpoint with the fewest requests: those in flight by the picker's events, and those
waiting by the server's metrics.

    pip install grpcio
    python least_loaded.py unix:/run/pointsman/least-loaded.sock
"""

import sys
from collections import Counter

from pointsman_scheduler import Scheduler, serve

BEST = 4


class LeastLoaded(Scheduler):
    name = "least-loaded-py"

    def __init__(self):
        super().__init__()
        self.in_flight = Counter()  # Requests by slot.
        self.slot_of = {}  # By request id.
        self.assigned = Counter()  # Requests of this batch by slot: none has been routed yet.

    def removed(self, slot):
        del self.in_flight[slot]

    def event(self, event):
        if event.routed is not None:
            self.slot_of[event.id] = event.routed.slot
            self.in_flight[event.routed.slot] += 1
        elif event.done is not None and event.id in self.slot_of:
            slot = self.slot_of.pop(event.id)
            if self.in_flight[slot] > 0:
                self.in_flight[slot] -= 1

    def begin_batch(self):
        self.assigned.clear()

    def load(self, slot):
        return self.in_flight[slot] + self.assigned[slot] + self.endpoints[slot].waiting_requests

    def decide(self, request, slots):
        known = [slot for slot in slots if slot in self.endpoints]
        best = sorted(known, key=self.load)[:BEST]
        targets = [(slot, -float(self.load(slot))) for slot in best]
        if best:
            self.assigned[best[0]] += 1
        return targets


if __name__ == "__main__":
    serve(LeastLoaded, sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9100")
