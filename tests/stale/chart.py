# SPDX-License-Identifier: MIT
"""The chart: of a thousand updates that were acknowledged, how many are lost."""

from charts import GREY, HEAD, gnuplot

OURS = {'lease': '#c9571f', 'fence': '#c98a1f', 'commit': '#0b8f6a',
        'commit_release': '#0b8f6a'}

LOST = '''$data << EOD
{rows}EOD
set style fill solid 1.0 noborder
set boxwidth 0.7
set yrange [0:{top}]
set xrange [0.4:{right}]
plot $data using 1:3:4:xtic(2) with boxes lc rgb variable notitle, \\
     $data using 1:($3+{top}*0.035):5 with labels noenhanced font ',11' notitle
'''


def per_thousand(verdict):
    return 1000 * verdict.acknowledged_lost / max(verdict.acknowledged, 1)


def draw(verdicts, path, foot):
    """Raises BenchError."""
    shares = {form: per_thousand(verdict)
              for form, verdict in verdicts.items()}
    rows = ''.join(
        f'{i} "{form}" {share} {int(OURS.get(form, GREY)[1:], 16)} '
        f'"{share:.0f}"\n' for i, (form, share) in enumerate(shares.items(), 1))
    gnuplot(HEAD.format(width=840, height=380, bmargin=3.2, path=path,
                        title='Updates that were acknowledged, and are lost',
                        ylabel='of 1,000', foot=foot.replace('"', "'"))
            + LOST.format(rows=rows, top=max(*shares.values(), 1) * 1.2,
                          right=len(shares) + 0.6))
