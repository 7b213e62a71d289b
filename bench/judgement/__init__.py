"""How good the judgement is: simulated recorded runs whose truth is known, and the scoring of what is said of them.

python -m bench.judgement [accuracy|alarms|lengths|speed] [--runs N] [--seed S] [--jobs 2] [--family ..] [--json FILE]
python -m bench.judgement show --seed S [--family F] --at start+2h
"""
