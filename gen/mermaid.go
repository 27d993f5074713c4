package gen

import (
	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/spec"
)

// Mermaid returns m as a Mermaid stateDiagram-v2: the file that is generated
// beside the code. Package chart has the other formats, and parts of a machine.
func Mermaid(m *spec.Machine) []byte { return chart.Mermaid(chart.At(m, chart.Brief)) }
