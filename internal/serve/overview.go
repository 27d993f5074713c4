package serve

import "net/http"

// overviewView lists what there is.
type overviewView struct {
	Machines []listedView `json:"machines"`
	Database string       `json:"database,omitempty"` // its address without a password
}

type listedView struct {
	Name   string `json:"name"`
	File   string `json:"file"`
	Errors int    `json:"errors"`
}

func (s *Server) overview(w http.ResponseWriter, _ *http.Request) {
	view := overviewView{Machines: []listedView{}}
	if s.options.Database != nil {
		view.Database = s.options.Database.shown
	}
	for _, f := range s.files {
		t := f.now()
		view.Machines = append(view.Machines, listedView{Name: t.Title(), File: t.Name, Errors: t.Errors()})
	}
	reply(w, view)
}
