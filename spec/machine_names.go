package spec

// Field returns the declared or built-in field of that name, or nil.
func (m *Machine) Field(name string) *Field {
	if i := indexOf(m, m.Fields, fieldPlaces{}, (*Field).name, name); i >= 0 {
		return m.Fields[i]
	}
	for _, f := range m.Builtin {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// FieldIndex returns where a declared field stands among [Machine.Fields], or -1.
func (m *Machine) FieldIndex(f *Field) int {
	if i := indexOf(m, m.Fields, fieldPlaces{}, (*Field).name, f.Name); i >= 0 && m.Fields[i] == f {
		return i
	}
	return -1
}

// State returns the state of that name, or nil.
func (m *Machine) State(name string) *State {
	if i := indexOf(m, m.States, statePlaces{}, (*State).name, name); i >= 0 {
		return m.States[i]
	}
	return nil
}

// Operation returns the operation of that name, or nil.
func (m *Machine) Operation(name string) *Operation {
	if i := indexOf(m, m.Operations, operationPlaces{}, (*Operation).name, name); i >= 0 {
		return m.Operations[i]
	}
	return nil
}

// Input returns the input of that name, or nil.
func (o *Operation) Input(name string) *Input {
	for _, in := range o.Inputs {
		if in.Name == name {
			return in
		}
	}
	return nil
}

func stored(name, was string) string {
	if was != "" {
		return was
	}
	return name
}
