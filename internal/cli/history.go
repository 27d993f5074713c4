package cli

import "github.com/fsmgen/fsmgen/gen/chart"

// History is what "fsmctl history" prints and "fsmgen diagram --history" reads: how
// often each operation of a machine led from one state to another.
type History struct {
	Machine string          `json:"machine"`
	Moves   []chart.Traffic `json:"moves"`
}
