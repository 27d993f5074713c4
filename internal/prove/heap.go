package prove

// heap gives back rows, the one with the least distance first, each once.
type heap struct {
	list  []distance
	best  []int64 // row -> the least distance put so far
	seen  []int32 // row -> the round of best; negative: it was taken
	round int32
	done  []int   // the rows that were taken
	moved []int64 // for bind: their new values
}

type distance struct {
	row int
	d   int64
}

func (h *heap) begin(rows int) *heap {
	for len(h.seen) < rows {
		h.seen, h.best = append(h.seen, 0), append(h.best, 0)
	}
	h.round++
	h.list, h.done, h.moved = h.list[:0], h.done[:0], h.moved[:0]
	return h
}

func (h *heap) put(row int, d int64) {
	if h.seen[row] == -h.round || h.seen[row] == h.round && h.best[row] <= d {
		return
	}
	h.seen[row], h.best[row] = h.round, d
	h.list = append(h.list, distance{row, d})
	for i := len(h.list) - 1; i > 0; {
		up := (i - 1) / 2
		if h.list[up].d <= h.list[i].d {
			break
		}
		h.list[up], h.list[i] = h.list[i], h.list[up]
		i = up
	}
}

// take removes the nearest row, and with it entries of rows that were taken already.
func (h *heap) take() (row int, d int64) {
	first := h.list[0]
	h.drop()
	h.seen[first.row] = -h.round
	h.done = append(h.done, first.row)
	for len(h.list) > 0 && h.seen[h.list[0].row] == -h.round {
		h.drop()
	}
	return first.row, first.d
}

func (h *heap) drop() {
	last := len(h.list) - 1
	h.list[0] = h.list[last]
	h.list = h.list[:last]
	for i := 0; ; {
		least := i
		for _, k := range [2]int{2*i + 1, 2*i + 2} {
			if k < last && h.list[k].d < h.list[least].d {
				least = k
			}
		}
		if least == i {
			return
		}
		h.list[least], h.list[i] = h.list[i], h.list[least]
		i = least
	}
}
