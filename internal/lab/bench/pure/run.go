package pure

import "github.com/fsmgen/fsmgen/internal/lab/bench/measure"

// Figures are the results of one run.
type Figures struct {
	Subjects []Subject
	Life     []measure.Result            // one per subject
	Refusal  map[string][]measure.Result // by kind; of the subjects that can refuse it
	Alone    map[string]measure.Result   // by kind; what making the error takes, measured beside them
	who      map[string][]int            // by kind; the subjects of the results
}

// Measure runs all subjects under the plan.
func Measure(p measure.Plan) (Figures, error) {
	f := Figures{Subjects: Subjects(), Refusal: map[string][]measure.Result{}, Alone: map[string]measure.Result{},
		who: map[string][]int{}}
	var variants []measure.Variant
	for _, s := range f.Subjects {
		variants = append(variants, measure.Variant{Name: s.Name, Work: s.lived, Per: Steps})
	}
	var err error
	if f.Life, err = measure.Interleaved(p, variants); err != nil {
		return f, err
	}
	for _, kind := range Refusals {
		variants = variants[:0]
		for i, s := range f.Subjects {
			if s.Refuse[kind] != nil {
				variants = append(variants, measure.Variant{Name: s.Name, Work: s.refusing(kind), Per: 1})
				f.who[kind] = append(f.who[kind], i)
			}
		}
		variants = append(variants, measure.Variant{Name: "the error alone", Work: alone, Per: 1})
		all, err := measure.Interleaved(p, variants)
		if err != nil {
			return f, err
		}
		f.Refusal[kind], f.Alone[kind] = all[:len(all)-1], all[len(all)-1]
	}
	return f, nil
}

// Put adds the result of a subject's refusal of one kind.
func (f *Figures) Put(kind string, subject int, r measure.Result) {
	if f.who == nil {
		f.who = map[string][]int{}
	}
	f.Refusal[kind], f.who[kind] = append(f.Refusal[kind], r), append(f.who[kind], subject)
}

// Of returns the life of a subject; ok is false when there is none of that name
// and depth.
func (f Figures) Of(name, depth string) (r measure.Result, ok bool) {
	for i, s := range f.Subjects {
		if s.Name == name && s.Depth == depth {
			return f.Life[i], true
		}
	}
	return measure.Result{}, false
}

// Refused returns a subject's refusal of one kind; ok is false when it has none.
func (f Figures) Refused(kind string, subject int) (r measure.Result, ok bool) {
	for i, who := range f.who[kind] {
		if who == subject {
			return f.Refusal[kind][i], true
		}
	}
	return measure.Result{}, false
}
