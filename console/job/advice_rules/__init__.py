"""Rules of advice, by the verdict that they lead to; each is ``rule(ctx) -> Verdict | None``."""
