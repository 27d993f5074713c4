package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/console/run"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// The bounds of a run.
const (
	runMost   = 1000             // records, unless the form says more
	runLimit  = 10_000           // records at most
	pieceMost = 100              // records of a piece
	pieceSize = 32 << 10         // bytes of a piece's records
	countTime = 20 * time.Second // in which they are counted
)

// target is a record of a run, as it was counted.
type target struct {
	ID    string `json:"id"`
	Rev   int64  `json:"rev"`
	State string `json:"state"` // its stored word
}

// told is what became of the records of a piece.
type told struct {
	Done    int                 `json:"done"`
	Moved   []string            `json:"moved,omitempty"`   // those that had left their revision
	Refused map[string][]string `json:"refused,omitempty"` // by the error
}

// settled are the inputs of a run as they were written.
type settled struct {
	Made   string            `json:"made"`
	Inputs map[string]string `json:"inputs,omitempty"`
}

// withRuns refuses what needs a store of runs.
func (q *request) withRuns() error {
	if q.o.Runs == nil {
		return &requestError{http.StatusNotFound, "This console does nothing to many records at once: its program has set no Options.Runs."}
	}
	return nil
}

// many counts the records that fit a filter, and notes them as a run that somebody may start.
func (q *request) many() error {
	if err := q.withRuns(); err != nil {
		return err
	}
	s, err := q.operationOf(false)
	if err != nil {
		return err
	}
	if !q.v.mayRun(q.m, s.name) {
		return q.mayNot(Act + " " + s.name)
	}
	most := runMost
	if text := q.r.PostForm.Get("most"); text != "" {
		if most, err = strconv.Atoi(text); err != nil || most < 1 || most > runLimit {
			return badRequest(fmt.Sprintf("%q is no bound; a run has 1 to %d records.", text, runLimit))
		}
	}
	query, err := url.ParseQuery(q.r.PostForm.Get("filter"))
	if err != nil {
		return badRequest("The filter cannot be read. Load the list again.")
	}
	list, more, err := q.counted(query, most)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return badRequest("No record fits, so there is nothing to do.")
	}
	id, filter := driver.NewID(), fsm.Optional[string]{}
	if text := query.Encode(); text != "" {
		filter = fsm.Some(text)
	}
	pieces, err := cut(list)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(q.r.Context(), actTime)
	defer cancel()
	_, err = q.o.Runs.Batch(ctx, func(runs *run.Machine) error {
		for i, items := range pieces {
			in := run.DraftInput{
				Run: id, Number: int64(i), Pieces: int64(len(pieces)), Place: q.m.place.Name, Target: q.m.schema.Machine,
				Operation: s.name, Filter: filter, More: more, Items: items,
			}
			if _, err := runs.Draft(ctx, "", in, fsm.Call{RequestID: fmt.Sprintf("draft %s %d", id, i), Actor: q.v.Name}); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, fsm.ErrTooLarge):
		return badRequest("The filter is too long to be noted with a run. Narrow the list in another way.")
	case err != nil:
		return err
	}
	q.tidy()
	return q.toRun(id)
}

func (q *request) toRun(id string) error {
	q.w.Header().Set("Location", "run?id="+url.QueryEscape(id))
	q.w.WriteHeader(http.StatusSeeOther)
	return nil
}

// counted finds the records that fit a filter, by the pages of its list.
func (q *request) counted(query url.Values, most int) (list []target, more bool, err error) {
	ctx, cancel := context.WithTimeout(q.r.Context(), countTime)
	defer cancel()
	of := *q
	of.r = q.r.Clone(ctx)
	seen := map[string]bool{}
	query.Del("after")
	for {
		of.r.URL.RawQuery = query.Encode()
		f, err := of.filter()
		if err != nil {
			return nil, false, err
		}
		p := &listPage{Filter: f}
		found, err := of.find(f, p)
		if err != nil {
			return nil, false, err
		}
		for i := range found {
			row := &found[i]
			if seen[row.ID] {
				continue
			}
			if len(list) == most {
				return list, true, nil
			}
			seen[row.ID] = true
			list = append(list, target{row.ID, row.Rev, row.State})
		}
		next, ok := strings.CutPrefix(string(p.Next), "records?")
		if !ok {
			return list, false, nil
		}
		if query, err = url.ParseQuery(next); err != nil {
			return nil, false, err
		}
	}
}

// cut makes the pieces of a run.
func cut(list []target) (pieces []fsm.JSON, err error) {
	for len(list) > 0 {
		n, size := 0, 0
		for n < min(len(list), pieceMost) {
			id, err := json.Marshal(list[n].ID) // it may be six times as long
			if err != nil {
				return nil, err
			}
			if size += len(id) + 64; n > 0 && size > pieceSize {
				break
			}
			n++
		}
		items, err := fsm.MarshalValue(list[:n])
		if err != nil {
			return nil, err
		}
		pieces, list = append(pieces, items), list[n:]
	}
	return pieces, nil
}

// pieces reads a run.
func (q *request) pieces() (list []run.Piece, err error) {
	if err := q.withRuns(); err != nil {
		return nil, err
	}
	id := q.r.FormValue("id")
	ctx, cancel := context.WithTimeout(q.r.Context(), queryTime)
	defer cancel()
	if list, err = piecesOf(ctx, q.o.Runs, id); err != nil {
		return nil, err
	}
	if len(list) == 0 || list[0].Place != q.m.place.Name || list[0].Target != q.m.schema.Machine {
		return nil, &requestError{http.StatusNotFound, fmt.Sprintf("%s has no run %q.", q.m.schema.Machine, id)}
	}
	return list, nil
}

func piecesOf(ctx context.Context, runs *run.Machine, id string) (list []run.Piece, err error) {
	for page := (fsm.Page{Size: pieceMost}); ; {
		var some []run.Piece
		if some, page, err = runs.OfRun(ctx, id, page); err != nil {
			return nil, err
		}
		list = append(list, some...)
		if page.After == "" {
			return list, nil
		}
	}
}

// runPage is a run: what it would do, does, and has done.
type runPage struct {
	ID, Operation string
	Filter        template.URL
	More          bool
	Records       int
	States        []runState
	First         []target // ten of them
	Draft         bool
	Waiting       int  // pieces that nobody has begun
	Working       bool // somebody is at work
	Dead          bool // somebody was, and is not any more
	Stopped       int  // records that were left alone
	By            shown
	Reason        shown
	Inputs        []shown
	Made          time.Time
	Done, Tried   int
	Moved         []string
	Refused       []refusals
	May           bool // the viewer may start it, and stop it
	Act           *actPage
	Again         bool // the page loads itself again
}

type runState struct {
	Name  string
	Count int
	Leads bool // the operation leads from there
}

type refusals struct {
	Error string
	IDs   []string
}

// runPage makes the page of a run.
func (q *request) runPage(list []run.Piece) (*runPage, error) {
	//nolint:gosec // many has made the filter's text by Encode
	filter := template.URL(list[0].Filter.Or(""))
	p := &runPage{ID: list[0].Run, Operation: list[0].Operation, Filter: filter, More: list[0].More, Made: list[0].CreatedAt}
	p.May = q.v.may(q.m, Many) && q.v.mayRun(q.m, p.Operation)
	s := q.m.step(p.Operation)
	states := map[string]int{}
	now := q.o.Runs.Core().Engine().Now()
	for i := range list {
		piece := &list[i]
		var items []target
		if err := piece.Items.Decode(&items); err != nil {
			return nil, err
		}
		p.Records += len(items)
		for _, item := range items {
			states[item.State]++
			if len(p.First) < 10 {
				item.State = q.m.schema.StateName(item.State)
				p.First = append(p.First, item)
			}
		}
		switch piece.State {
		case run.StateDrafted:
			p.Draft = true
		case run.StateWaiting:
			p.Waiting++
		case run.StateWorking:
			p.Working = p.Working || piece.Lease.Or(now).After(now)
			p.Dead = p.Dead || !piece.Lease.Or(now).After(now)
		case run.StateStopped:
			p.Stopped += len(items)
		case run.StateDone:
			if err := p.add(piece); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(p.Refused, func(a, b refusals) int { return strings.Compare(a.Error, b.Error) })
	p.By, p.Reason = q.text(ActorOf, list[0].Starter.Or("")), q.text(ReasonOf, list[0].Reason.Or(""))
	p.Inputs = q.settledInputs(s, &list[0])
	for _, st := range q.m.schema.States {
		if n := states[st.Stored]; n > 0 {
			r := runState{Name: st.Name, Count: n}
			for _, mv := range stepMoves(s) {
				r.Leads = r.Leads || mv.From == st.Stored
			}
			p.States = append(p.States, r)
		}
	}
	if p.Draft && p.May && s != nil && s.needs == "" {
		p.Act = &actPage{
			Form: "run", Operation: s.name, Doc: s.doc, Needed: true, Rules: s.rules,
			Inputs: q.asks(s, nil, nil), Reason: q.r.FormValue("reason"),
		}
		q.fresh(p.Act)
		p.Act.Ends = q.ends(s, list)
	}
	p.Again = p.Working || p.Waiting > 0 && !p.Dead
	return p, nil
}

func stepMoves(s *step) []fsmimpl.Move {
	if s == nil {
		return nil
	}
	return s.moves
}

// ends reports whether a run may end records.
func (q *request) ends(s *step, list []run.Piece) bool {
	for i := range list {
		var items []target
		if list[i].Items.Decode(&items) != nil {
			return true
		}
		for _, item := range items {
			for _, mv := range s.moves {
				if mv.From == item.State && q.m.terminal(mv.To) {
					return true
				}
			}
		}
	}
	return false
}

// add counts what became of a piece.
func (p *runPage) add(piece *run.Piece) error {
	var t told
	report := piece.Report.Or(fsm.JSON{})
	if err := json.Unmarshal([]byte(report.String()), &t); err != nil {
		return err
	}
	p.Done += t.Done
	p.Moved = append(p.Moved, t.Moved...)
	p.Tried += t.Done + len(t.Moved)
	for name, ids := range t.Refused {
		p.Tried += len(ids)
		found := false
		for i := range p.Refused {
			if p.Refused[i].Error == name {
				p.Refused[i].IDs, found = append(p.Refused[i].IDs, ids...), true
			}
		}
		if !found {
			p.Refused = append(p.Refused, refusals{name, ids})
		}
	}
	return nil
}

// settledInputs shows the inputs of a run.
func (q *request) settledInputs(s *step, piece *run.Piece) (list []shown) {
	var in settled
	text := piece.Inputs.Or(fsm.JSON{})
	if s == nil || json.Unmarshal([]byte(text.String()), &in) != nil {
		return nil
	}
	for i := range s.takes {
		name := s.takes[i].Name
		var fields []string
		for _, f := range s.feeds {
			if c := q.m.schema.Column(f.Column); f.Input == name && c >= 0 {
				fields = append(fields, q.m.schema.Columns[c].Name)
			}
		}
		list = append(list, q.hide(shown{Name: name, Text: in.Inputs[name]}, fields...))
	}
	return list
}

// showRun shows a run.
func (q *request) showRun() error {
	list, err := q.pieces()
	if err != nil {
		return err
	}
	p, err := q.runPage(list)
	if err != nil {
		return err
	}
	return q.show("run", p.Operation+" of "+group(int64(p.Records))+" records", p)
}

// steer starts a run, stops it, or goes on with it.
func (q *request) steer() error {
	list, err := q.pieces()
	if err != nil {
		return err
	}
	s := q.m.step(list[0].Operation)
	switch {
	case !q.v.mayRun(q.m, list[0].Operation):
		return q.mayNot(Act + " " + list[0].Operation)
	case (s == nil || s.needs != "") && q.r.PostForm.Get("do") == "start":
		return badRequest(fmt.Sprintf("%s cannot be called from here.", list[0].Operation))
	}
	ctx, cancel := context.WithTimeout(q.r.Context(), actTime)
	defer cancel()
	id := list[0].Run
	switch q.r.PostForm.Get("do") {
	case "start":
		return q.start(ctx, s, list)
	case "stop":
		for i := range list {
			c := fsm.Call{RequestID: fmt.Sprintf("stop %s %d", id, i), Actor: q.v.Name, Reason: "stopped by a page"}
			if _, err := q.o.Runs.Stop(ctx, fsm.Ref{ID: list[i].ID}, c); err != nil && !wrongState(err) {
				return err
			}
		}
	case "go":
		go q.work(q.m, id)
	default:
		return badRequest("The form does not say what to do. Load its page again.")
	}
	return q.toRun(id)
}

// wrongState reports whether a piece was elsewhere.
func wrongState(err error) bool {
	return errors.Is(err, fsm.ErrWrongState) || errors.Is(err, fsm.ErrTerminal)
}

// start lets a run begin that somebody has looked at.
func (q *request) start(ctx context.Context, s *step, list []run.Piece) error {
	a := &actPage{Form: "run"}
	if err := q.given(a); err != nil {
		return err
	}
	in := settled{Made: a.Made, Inputs: map[string]string{}}
	for i := range s.takes {
		in.Inputs[s.takes[i].Name] = q.r.PostForm.Get("in." + s.takes[i].Name)
	}
	values, wrong := q.values(s, a.Made)
	if wrong == nil {
		wrong = q.m.named(&asked{operation: s.name, values: values, caller: q.caller(a)})
	}
	switch {
	case wrong != nil:
	case a.Reason == "":
		wrong = badRequest("Say why: the reason stands in the event of each record.")
	case q.ends(s, list) && q.r.PostForm.Get("sure") == "":
		wrong = badRequest("Say that you are sure: this ends records.")
	}
	inputs, err := fsm.MarshalValue(in)
	if err != nil {
		return err
	}
	if len(inputs.String())+len(a.Reason) > pieceSize && wrong == nil {
		wrong = badRequest(fmt.Sprintf("The inputs and the reason of a run have at most %s bytes.", group(pieceSize)))
	}
	id := list[0].Run
	if wrong == nil {
		_, wrong = q.o.Runs.Batch(ctx, func(runs *run.Machine) error {
			for i := range list {
				c := fsm.Call{RequestID: fmt.Sprintf("start %s %d", id, i), Actor: q.v.Name, Reason: a.Reason}
				at := fsm.Ref{ID: list[i].ID}
				if _, err := runs.Start(ctx, at, run.StartInput{Reason: a.Reason, Inputs: inputs}, c); err != nil {
					return err
				}
			}
			return nil
		})
	}
	switch {
	case wrong == nil:
		go q.work(q.m, id)
		return q.toRun(id)
	case wrongState(wrong), errors.Is(wrong, fsm.ErrRequestReused): // somebody has started it, or stopped
		return q.toRun(id)
	}
	p, err := q.runPage(list)
	if err != nil {
		return err
	}
	if p.Act == nil {
		return q.toRun(id)
	}
	p.Act.Inputs, p.Act.Reason = q.asks(s, q.r.PostForm, nil), a.Reason
	status := q.why(p.Act, wrong)
	if status == 0 {
		return wrong
	}
	return q.answer(status, "run", p.Operation+" of "+group(int64(p.Records))+" records", p)
}

// runsPage lists runs, the newest first.
type runsPage struct {
	Rows []runRow
	Next string
}

type runRow struct {
	ID, Operation, State string
	Made                 time.Time
	By, Reason           shown
}

func (q *request) runs() error {
	if err := q.withRuns(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(q.r.Context(), queryTime)
	defer cancel()
	list, next, err := q.o.Runs.OfMachine(ctx, q.m.place.Name, q.m.schema.Machine, 0, fsm.Page{Size: pageRows, After: q.r.FormValue("after")})
	if err != nil {
		return err
	}
	q.tidy()
	p := &runsPage{Next: next.After}
	for i := range list {
		piece := &list[i]
		p.Rows = append(p.Rows, runRow{
			ID: piece.Run, Operation: piece.Operation, State: piece.State.String(), Made: piece.CreatedAt,
			By: q.text(ActorOf, piece.Starter.Or("")), Reason: q.text(ReasonOf, piece.Reason.Or("")),
		})
	}
	return q.show("runs", q.m.schema.Machine+": runs", p)
}
