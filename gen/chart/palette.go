package chart

// Paint is the colours of a box, as #rrggbb.
type Paint struct {
	Fill, Stroke, Text string
}

// Light and Dark are the colours of the roles. Text stands on Fill with a
// contrast of at least 7 to 1, and Stroke on the page with at least 3 to 1.
var (
	Light = map[Role]Paint{
		Normal:   {"#f3f4f6", "#5b6472", "#1c2330"},
		Initial:  {"#e3eefd", "#2563c4", "#10305f"},
		Final:    {"#efe8fb", "#7444bd", "#361a66"},
		Terminal: {"#dfe4ec", "#3d4656", "#141a24"},
		Success:  {"#e1f3e6", "#23803f", "#0d3d1c"},
		Trouble:  {"#fde8e6", "#c2382c", "#5d120b"},
		Outside:  {"#ffffff", "#8a93a1", "#4d5766"},
	}
	Dark = map[Role]Paint{
		Normal:   {"#262d37", "#98a3b3", "#eef1f5"},
		Initial:  {"#152d4f", "#6ca6f5", "#e0edff"},
		Final:    {"#31214f", "#b18af0", "#f0e7ff"},
		Terminal: {"#39424f", "#b9c3d1", "#f7f9fc"},
		Success:  {"#12361f", "#5cc27d", "#dcf6e4"},
		Trouble:  {"#451a17", "#f0867c", "#ffe3e0"},
		Outside:  {"#14181f", "#76818f", "#b4bdca"},
	}
)

// roles in the order of the legend.
var roles = []Role{Initial, Normal, Final, Terminal, Success, Trouble, Outside}

// faint is the colour of what the log never saw: as text it has a contrast of
// 4.5 to 1 with the page.
const faint = "#68717f"
