"""Formatting of rates, times, ratios, sizes and tables as text."""

from __future__ import annotations


def rate(per_second: float) -> str:
    """Format a rate in steps per second.

    Examples:
        >>> rate(41_234_567.0), rate(128_400.0), rate(87.0)
        ('41.2 M steps/s', '128 k steps/s', '87 steps/s')
    """
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        # 999.6 k would be printed as 1e+03 k, so the next unit starts where rounding reaches it.
        if per_second >= limit * 0.9995:
            return f"{_three_figures(per_second / limit)}{unit} steps/s"
    return f"{_three_figures(per_second)} steps/s"


def duration(length: float) -> str:
    """Format a time in seconds.

    Examples:
        >>> duration(1.234e-9), duration(0.0156), duration(75.0), duration(9000.0)
        ('1.23 ns', '15.6 ms', '75 s', '2.5 h')
    """
    for size, unit in ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if length >= (2 * size if size > 1.0 else 0.9995 * size):
            return f"{_three_figures(length / size)} {unit}"
    return f"{_three_figures(length / 1e-9)} ns"


def times(ratio: float) -> str:
    """Format a ratio.

    Examples:
        >>> times(1234.5), times(60.0), times(0.5514)
        ('1234x', '60x', '0.55x')
    """
    return f"{_three_figures(ratio)}x"


def byte_count(number: float) -> str:
    """Format a number of bytes with a binary unit.

    Examples:
        >>> byte_count(3 * 2**30), byte_count(17)
        ('3 GiB', '17 B')
    """
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if number >= 2**power * 0.9995:
            return f"{_three_figures(number / 2**power)} {unit}"
    return f"{number:.0f} B"


def _three_figures(number: float) -> str:
    """Format a number as 1.23, 12.3 or 123, without trailing zeros after the decimal point."""
    decimals = 0 if number >= 99.95 else 1 if number >= 9.995 else 2
    text = f"{number:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def table(rows: list[list[str]], header: list[str]) -> str:
    """Format rows as aligned columns: the first left-aligned, the others right-aligned.

    Examples:
        >>> print(table([["a", "1"], ["bcd", "22"]], ["name", "n"]))
        name   n
        ----  --
        a      1
        bcd   22
    """
    widths = [max(len(row[k]) for row in [header, *rows]) for k in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
