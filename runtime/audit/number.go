package audit

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
)

// groupNumber spreads the groups over all numbers.
func groupNumber(group string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(group)) // never fails
	n := h.Sum64()
	n ^= n >> 33 // fnv leaves the high bits of short texts alike
	n *= 0xff51afd7ed558ccd
	return n ^ n>>33
}

// numberText is how a purge says from which group a record is missing.
func numberText(n uint64) string { return fmt.Sprintf("%016x", n) }

// numberOf reads what numberText wrote, as JSON; false when it is none.
func numberOf(raw json.RawMessage) (uint64, bool) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 16, 64)
	return n, err == nil && text == numberText(n)
}
