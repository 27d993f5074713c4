package main

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	"github.com/fsmgen/fsmgen/examples/orders/order"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

const (
	keyHeader    = "Idempotency-Key"     // of a request: the same key again is the same request
	replayHeader = "Idempotent-Replayed" // of an answer: "true" when the request was known
	userHeader   = "X-User"              // who calls, by the proxy in front that has authenticated them
)

// service answers HTTP requests. It decides nothing about orders: it reads a request, calls the method of that name
// and writes what came of it.
type service struct {
	orders *order.Machine
	log    *slog.Logger
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", s.place)
	mux.HandleFunc("POST /orders/{id}/pay", s.pay)
	mux.HandleFunc("POST /orders/{id}/refunds", s.refund)
	mux.HandleFunc("POST /orders/{id}/cancel", s.cancel)
	mux.HandleFunc("GET /orders/{id}", s.show)
	mux.HandleFunc("GET /orders/{id}/history", s.history)
	return mux
}

func (s *service) place(w http.ResponseWriter, r *http.Request) {
	var in order.PlaceInput // the body of a request holds the inputs of the operation
	if read(w, r, &in) {
		out, err := s.orders.Place(r.Context(), "", in, call(r, ""))
		s.answer(w, http.StatusCreated, out, err)
	}
}

func (s *service) pay(w http.ResponseWriter, r *http.Request) {
	var in order.PayInput
	if read(w, r, &in) {
		out, err := s.orders.Pay(r.Context(), target(r), in, call(r, ""))
		s.answer(w, http.StatusOK, out, err)
	}
}

func (s *service) refund(w http.ResponseWriter, r *http.Request) {
	var body struct {
		order.RefundInput
		Reason string
	}
	if read(w, r, &body) {
		out, err := s.orders.Refund(r.Context(), target(r), body.RefundInput, call(r, body.Reason))
		s.answer(w, http.StatusOK, out, err)
	}
}

func (s *service) cancel(w http.ResponseWriter, r *http.Request) {
	out, err := s.orders.Cancel(r.Context(), target(r), call(r, ""))
	s.answer(w, http.StatusOK, out, err)
}

func (s *service) show(w http.ResponseWriter, r *http.Request) {
	o, err := s.orders.Record(r.Context(), r.PathValue("id"))
	s.answer(w, http.StatusOK, order.Outcome{Record: o}, err)
}

// history writes the log of an order, in the form of CONTRACT.md: who did what, when and why, with the inputs.
func (s *service) history(w http.ResponseWriter, r *http.Request) {
	var list []fsm.Event
	for e, err := range s.orders.History(r.Context(), r.PathValue("id")) {
		if err != nil {
			s.refuse(w, err)
			return
		}
		list = append(list, e)
	}
	write(w, http.StatusOK, list)
}

// target is the order that a request is about, at whatever revision it has.
func target(r *http.Request) fsm.Target { return fsm.Ref{ID: r.PathValue("id")} }

// call says who calls and why. The client's key is the request id: a client that has heard no answer sends the same
// request again, and gets the first answer.
func call(r *http.Request, reason string) fsm.Call {
	return fsm.Call{RequestID: r.Header.Get(keyHeader), Actor: r.Header.Get(userHeader), Reason: reason}
}

// read reads the body of a request, or answers that it cannot be read.
func read(w http.ResponseWriter, r *http.Request, body any) bool {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16))
	d.DisallowUnknownFields()
	err := d.Decode(body)
	if err != nil {
		write(w, http.StatusBadRequest, problem{"bad_json", "", "expected a JSON object with the inputs of the operation"})
	}
	return err == nil
}

// answer writes what came of a call. A replay has the body of the first answer: the order as it was then.
func (s *service) answer(w http.ResponseWriter, status int, out order.Outcome, err error) {
	if err != nil {
		s.refuse(w, err)
		return
	}
	if out.Replayed {
		w.Header().Set(replayHeader, "true")
	}
	write(w, status, out.Record)
}

// problem is the body of an answer to a call that failed.
type problem struct {
	Error   string `json:"error"`           // refund_too_big, wrong_state, invalid_input, ...
	Guard   string `json:"guard,omitempty"` // the one that refused
	Message string `json:"message,omitempty"`
}

// refuse answers a call that failed. The runtime has a status for each code: 404 for an order that is not there, 409 for
// a state that does not fit, 503 for a call to be made again with the same key. A guard is 409 there, and an input 400.
// Here both judge what the client sent, so both are 422.
func (s *service) refuse(w http.ResponseWriter, err error) {
	status, p := http.StatusInternalServerError, problem{Error: "internal"}
	var known interface{ Status() (http, grpc int) } // a refusal, or an answer of the database that was lost
	if errors.As(err, &known) {
		status, _ = known.Status()
	}
	if errors.Is(err, fsm.ErrGuard) || errors.Is(err, fsm.ErrInvalidInput) {
		status = http.StatusUnprocessableEntity
	}
	var refusal *fsm.Refusal
	if errors.As(err, &refusal) {
		p = problem{refusal.ErrorName(), refusal.Guard, refusal.Error()}
	}
	if status >= 500 { // why, is no matter of the client
		s.log.Error("a call failed", "err", err)
		p.Message = ""
	}
	write(w, status, p)
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // who does not hear it asks again
}
