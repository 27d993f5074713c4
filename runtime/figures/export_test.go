package figures

// SortAtMost sets of how many records the oldest is looked for by sorting them.
func (m *Machine) SortAtMost(n int64) { m.sorts = n }
