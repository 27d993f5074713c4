package draw

import (
	"maps"
	"slices"

	"github.com/fsmgen/fsmgen/gen/chart"
)

// Theme says which colours a picture has.
type Theme uint8

// The themes.
const (
	Auto Theme = iota // SVG: as the viewer prefers; PNG: Light
	Light
	Dark
)

// paint is how shapes and texts of a class look; "" is nothing.
type paint struct {
	fill, stroke string
	width        float64 // of the stroke
	dash         float64 // length of dashes and gaps; 0: none
}

// base are the classes but for those of the states, light and dark.
var base = [2]map[string]paint{
	{
		"page":    {fill: "#ffffff"},
		"heading": {fill: "#1c2330"},
		"summary": {fill: "#4d5766"},
		"edge":    {stroke: "#5b6472", width: 1.3},
		"tip":     {fill: "#5b6472"},
		"ended":   {stroke: "#5b6472", width: 1.3, dash: 6},
		"seldom":  {stroke: "#7d8695", width: 1.2, dash: 4},
		"seldomt": {fill: "#7d8695"},
		"pill":    {fill: "#ffffff", stroke: "#d3d9e2", width: 1},
		"op":      {fill: "#1c2330"},
		"line":    {fill: "#4d5766"},
		"guard":   {fill: "#8a4b00"},
		"count":   {fill: "#2563c4"},
		"never":   {fill: "#68717f"},
		"choice":  {fill: "#ffffff", stroke: "#5b6472", width: 1.3},
		"dot":     {fill: "#1c2330"},
		"ring":    {stroke: "#1c2330", width: 1.3},
		"panel":   {fill: "#fafbfc", stroke: "#d3d9e2", width: 1},
		"group":   {fill: "#ffffff", stroke: "#5b6472", width: 1, dash: 4},
		"derived": {stroke: "#7d8695", width: 1, dash: 4},
	},
	{
		"page":    {fill: "#14181f"},
		"heading": {fill: "#f2f5f9"},
		"summary": {fill: "#b4bdca"},
		"edge":    {stroke: "#98a3b3", width: 1.3},
		"tip":     {fill: "#98a3b3"},
		"ended":   {stroke: "#98a3b3", width: 1.3, dash: 6},
		"seldom":  {stroke: "#7a8594", width: 1.2, dash: 4},
		"seldomt": {fill: "#7a8594"},
		"pill":    {fill: "#14181f", stroke: "#39424f", width: 1},
		"op":      {fill: "#f2f5f9"},
		"line":    {fill: "#b4bdca"},
		"guard":   {fill: "#f0b354"},
		"count":   {fill: "#7cb1ff"},
		"never":   {fill: "#8a95a5"},
		"choice":  {fill: "#14181f", stroke: "#98a3b3", width: 1.3},
		"dot":     {fill: "#f2f5f9"},
		"ring":    {stroke: "#f2f5f9", width: 1.3},
		"panel":   {fill: "#191f28", stroke: "#39424f", width: 1},
		"group":   {fill: "#14181f", stroke: "#98a3b3", width: 1, dash: 4},
		"derived": {stroke: "#5d6877", width: 1, dash: 4},
	},
}

// paints returns every class of a theme.
func paints(t Theme) map[string]paint {
	i, roles := 0, chart.Light
	if t == Dark {
		i, roles = 1, chart.Dark
	}
	all := maps.Clone(base[i])
	for r, p := range roles {
		all["box-"+r.String()] = paint{fill: p.Fill, stroke: p.Stroke, width: 1.5}
		all["focus-"+r.String()] = paint{fill: p.Fill, stroke: p.Stroke, width: 3}
		all["rim-"+r.String()] = paint{stroke: p.Stroke, width: 1}
		all["clock-"+r.String()] = paint{stroke: p.Text, width: 1.2}
		all["name-"+r.String()] = paint{fill: p.Text}
	}
	return all
}

// classes lists the classes of a theme in a fixed order.
func classes(all map[string]paint) []string { return slices.Sorted(maps.Keys(all)) }
