#!/bin/bash
# lines.sh TREE prints for each folder its lines of hand-written Go without tests, and the
# characters of its longest line (a tab is four). The last line is the sum.
set -e
cd "$1"
git ls-files '*.go' | grep -v -e '_test\.go$' -e '/testdata/' | while read -r f; do
    grep -q -m1 '^// Code generated .* DO NOT EDIT\.$' "$f" && continue
    dir=$(dirname "$f")
    awk -v dir="$dir" '{gsub(/\t/, "    "); if (length > m) m = length} END {print dir, NR, m+0}' "$f"
done | awk '{n[$1] += $2; all += $2; if ($3 > m[$1]) m[$1] = $3}
    END {for (d in n) print d, n[d], m[d] | "sort"; close("sort"); print "all", all}'
