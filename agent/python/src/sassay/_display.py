"""How a verdict shows itself: a line, a row of a table, and HTML for notebooks. Every text in it may be the candidate's."""
from __future__ import annotations

import html
import unicodedata
from typing import Any, Dict, List, Optional, Sequence

_COLOURS = {"CORRECT": "#1a7f37", "INFRA_ERROR": "#9a6700", "CANCELLED": "#9a6700"}
_WRONG = "#cf222e"
_WIDTH, _HEIGHT = 480, 120


def harmless(text: Any) -> str:
    """Escaped for HTML, controls and what turns text around made visible."""
    def shown(character: str) -> str:
        if character in "\n\t":
            return character
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp"):
            return f"\\u{ord(character):04x}"
        return character

    return html.escape("".join(shown(character) for character in str(text)), quote=True)


class VerdictMixin:
    """What a verdict can say about itself."""

    @property
    def counts(self) -> bool:
        """Whether it says something about the candidate. INFRA_ERROR, CANCELLED and excluded verdicts do not."""
        return self.excluded is None and str(self.status) not in ("UNSPECIFIED", "INFRA_ERROR", "CANCELLED")  # type: ignore[attr-defined]

    @property
    def correct(self) -> Optional[bool]:
        """None where the verdict does not count."""
        return str(self.status) == "CORRECT" if self.counts else None  # type: ignore[attr-defined]

    @property
    def speedup(self) -> Optional[float]:
        """Over the workload's baseline; None where none was measured, or where the verdict does not count."""
        timing = self.timing  # type: ignore[attr-defined]
        return timing.speedup if self.counts and timing is not None and timing.speedup > 0 else None

    def to_row(self) -> Dict[str, Any]:
        """One flat row: pandas.DataFrame([verdict.to_row() for verdict in verdicts])."""
        timing = self.timing  # type: ignore[attr-defined]
        row: Dict[str, Any] = {name: str(getattr(self, name)) for name in (
            "submission_id", "workload", "status", "stage", "code", "reason", "provenance", "bundle_sha256")}
        row.update(scorable=self.scorable, counts=self.counts, correct=self.correct, speedup=self.speedup)  # type: ignore[attr-defined]
        for name in ("speedup_low", "speedup_high"):
            row[name] = getattr(timing, name) if self.speedup is not None else None
        for side in ("candidate", "baseline"):
            series = getattr(timing, side) if timing is not None else None
            row[f"{side}_ns"] = series.median_ns if series is not None else None
        return row

    def __str__(self) -> str:
        code = str(self.code)  # type: ignore[attr-defined]
        words = [str(self.status)]  # type: ignore[attr-defined]
        if code not in ("UNSPECIFIED", "OK", ""):
            words.append(code)
        return f"{' '.join(words)}  {self.workload}: {self.reason}"  # type: ignore[attr-defined]

    def _repr_html_(self) -> str:
        status = str(self.status)  # type: ignore[attr-defined]
        colour = _COLOURS.get(status, _WRONG)
        code = str(self.code)  # type: ignore[attr-defined]
        parts = [
            f'<div style="font-family:sans-serif;border-left:4px solid {colour};padding:4px 12px">',
            f'<b style="color:{colour}">{harmless(status)}</b> ',
            f"<code>{harmless(code)}</code> " if code not in ("UNSPECIFIED", "OK", "") else "",
            f"<span>{harmless(self.workload)}</span>",  # type: ignore[attr-defined]
            f"<pre style='white-space:pre-wrap;margin:4px 0'>{harmless(self.reason)}</pre>",  # type: ignore[attr-defined]
        ]
        if self.excluded is not None:  # type: ignore[attr-defined]
            parts.append(f"<p>excluded: {harmless(self.excluded.reason)}; it counts nowhere</p>")  # type: ignore[attr-defined]
        parts.append(_timing_html(self.timing))  # type: ignore[attr-defined]
        parts.append("</div>")
        return "".join(parts)


def _timing_html(timing: Any) -> str:
    if timing is None:
        return ""
    if timing.candidate is None or not timing.candidate.samples_ns:
        return f"<p>timing {harmless(timing.status)} {harmless(timing.reason)}</p>"
    words = f"candidate {_time(timing.candidate.median_ns)}"
    series = [("candidate", timing.candidate.samples_ns, "#0969da")]
    if timing.baseline is not None and timing.baseline.samples_ns:
        words += f", baseline {_time(timing.baseline.median_ns)}"
        series.append(("baseline", timing.baseline.samples_ns, "#8250df"))
    if timing.speedup > 0:
        words += f"; speed-up {timing.speedup:.3f} ({timing.speedup_low:.3f} to {timing.speedup_high:.3f})"
    return f"<p>{harmless(words)}</p>{plot(series)}"


def _time(nanoseconds: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3f} {unit}"
    return f"{nanoseconds:.0f} ns"


def plot(series: Sequence[Any]) -> str:
    """Samples in the order measured, as SVG; each series is (name, values in ns, colour)."""
    values: List[float] = [float(value) for _, samples, _ in series for value in samples]
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    dots = []
    for place, (name, samples, colour) in enumerate(series):
        for index, value in enumerate(samples):
            x = 4 + (_WIDTH - 8) * index / max(1, len(samples) - 1)
            y = _HEIGHT - 16 - (_HEIGHT - 32) * (float(value) - low) / span
            dots.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="{colour}"/>')
        dots.append(f'<text x="{4 + 90 * place}" y="{_HEIGHT - 2}" font-size="10" fill="{colour}">{harmless(name)}</text>')
    dots.append(f'<text x="4" y="10" font-size="10">{harmless(_time(high))} … {harmless(_time(low))}</text>')
    return f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img">{"".join(dots)}</svg>'
