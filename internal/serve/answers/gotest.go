package answers

import (
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/model"
	"github.com/fsmgen/fsmgen/spec"
)

// goTestView is a session as a test of the generated package.
type goTestView struct {
	GoTest string `json:"goTest"`
	Steps  int    `json:"steps"`
	Left   int    `json:"left"` // of them, that Go's types do not let be told
}

func goTest(t *Text, request playRequest, format model.Format) (goTestView, error) {
	steps, err := tell(t.Machine, request.Steps)
	if err != nil {
		return goTestView{}, refuse(Conflict, "%v", err)
	}
	text, err := model.SessionTest(t.Machine, steps, format)
	if err != nil {
		return goTestView{}, refuse(Conflict, "%v", err)
	}
	view := goTestView{GoTest: string(text), Steps: len(steps)}
	for _, s := range steps {
		if s.Left != "" {
			view.Left++
		}
	}
	return view, nil
}

// tell plays a session as a test of the generated package would: there, a delivery
// is one of all effects that wait.
func tell(m *spec.Machine, steps []stepRequest) ([]model.Told, error) {
	var w interp.World
	var list []model.Told
	var latest time.Time
	for i, step := range steps {
		at, err := parseTime(step.At)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
		var told model.Told
		if step.Deliver {
			if at.Before(latest) {
				return nil, fmt.Errorf("step %d: the clock was turned back before the effect ran, and a test of the generated package "+
					"cannot do that; repeat the step at a later time", i+1)
			}
			told, w, err = deliverAll(m, w, step, at)
		} else {
			told, w, err = tellCall(m, w, step)
		}
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
		if at.After(latest) {
			latest = at
		}
		list = append(list, told)
	}
	return list, nil
}

func tellCall(m *spec.Machine, w interp.World, step stepRequest) (model.Told, interp.World, error) {
	shown, next, err := playStep(m, w, step)
	if err != nil {
		return model.Told{}, w, err
	}
	c, err := callOf(m.Operation(step.Operation), step)
	if err != nil {
		return model.Told{}, w, err
	}
	told := model.Told{Call: c, Leads: shown.Outcome, Is: map[string]string{}}
	if no := shown.Refusal; no != nil {
		told.Leads = no.Code
		if no.Code == interp.CodeGuard {
			told.Guard = no.reason
		}
		if no.Code == interp.CodeInvalidInput {
			told.Left = fmt.Sprintf("%s is refused for an input that Go's types rule out", c.Op.Name)
		}
	}
	if r, ok := next.Records[shown.Record]; ok {
		told.Is[r.ID] = standing(r)
	}
	return told, next, nil
}

// deliverAll performs every effect that waits, and those that follow from it. The one of the
// step gives up where the step says so.
func deliverAll(m *spec.Machine, w interp.World, step stepRequest, at time.Time) (model.Told, interp.World, error) {
	told := model.Told{Call: interp.Call{At: at}, Leads: "delivered", Is: map[string]string{}}
	if len(w.Outbox) == 0 {
		told.Left = "the effect was performed with the ones before it"
	}
	for n := 0; len(w.Outbox) > 0; n++ {
		d := w.Outbox[0]
		if n == maxSteps {
			return told, w, fmt.Errorf("each effect leads to another one, in an endless loop")
		}
		deliver := interp.Deliver
		its := d.ID == step.Record && d.Rev == step.Rev && d.N == step.N
		if its && step.GaveUp != "" && d.Effect.Failed != nil && told.Gave == "" {
			told.Gave = d.Effect.Name + ": " + step.GaveUp
			deliver = func(m *spec.Machine, w interp.World, d interp.Delivery, at time.Time) (interp.Outcome, interp.World, *interp.Refusal) {
				return interp.GiveUp(m, w, d, step.GaveUp, at)
			}
		}
		_, next, refusal := deliver(m, w, d, at)
		if refusal != nil {
			return told, w, fmt.Errorf("what follows effect %s of %s is refused (%s), and a test of the generated package "+
				"would retry forever; undo the step", d.Effect.Name, d.ID, refusal.Code)
		}
		w = next
		told.Is[d.ID] = standing(w.Records[d.ID])
	}
	return told, w, nil
}

// standing writes state and revision as fsmcases compares them.
func standing(r interp.Record) string { return fmt.Sprintf("%s@%d", r.State.Stored(), r.Rev) }
