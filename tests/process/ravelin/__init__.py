"""What the process tests stand on: the real daemons, real peers, and the waiting in between.

Standard library only. Nothing here sleeps to let something happen: it waits for the event itself, with a deadline.
"""
