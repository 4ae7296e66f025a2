"""The probe inside a measured Python process: what it watches there, and what it writes.

Nothing here may disturb that program: it imports nothing of it, starts no CUDA, waits for no card,
resets no counter, keeps no exception alive, and whatever fails in measuring is said once at most.
"""
