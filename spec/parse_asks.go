package spec

import "strconv"

// asks reads effects under a key: one mapping, or a list of them.
func (p *parser) asks(o *object, key string) []*astEffect {
	n := o.node(key)
	if n == nil {
		return nil
	}
	nodes := []*node{n}
	if n.kind == listNode {
		if nodes = n.items; len(nodes) == 0 {
			p.add(codeValue, n.pos, 2, "write `- {name: ...}` for each effect, or remove the key", "%s: the list is empty", o.at(key))
		}
	}
	var list []*astEffect
	for _, n := range nodes {
		eo := p.object(n, o.at(key), "name", "key", "atomic", "then", "attempts", "failed", "of", "do", "id", "input")
		if eo == nil {
			continue
		}
		if len(nodes) == 1 {
			eo.anchor = o.values[key].key.word()
		}
		other := p.otherStep(eo)
		if other == nil {
			eo.require("name")
		}
		pos := n.pos
		if o.node(key).kind == mapNode {
			pos = o.keys[key]
		}
		var more []EffectKey
		for _, key := range []string{"key", "atomic", "then", "attempts", "failed"} {
			if at, given := eo.keys[key]; given {
				more = append(more, EffectKey{at, key})
			}
		}
		list = append(list, &astEffect{
			pos:    pos,
			name:   eo.name("name"),
			other:  other,
			key:    eo.some("key", eo.wordOrWords("key"), "name a field, or remove the key: then it is machine, id, revision and name"),
			atomic: eo.flag("atomic"),
			then:   eo.word("then"),
			thenAt: eo.keys["then"],
			more:   more,

			attempts:   eo.attempts(),
			attemptsAt: eo.keys["attempts"],
			failed:     eo.word("failed"),
			failedAt:   eo.keys["failed"],
		})
	}
	return list
}

// attempts reads how often an effect is tried; 0 without a limit, or where it cannot be read.
func (o *object) attempts() int {
	n := o.node("attempts")
	if n == nil || n.kind != scalarNode || !n.plain || !numberForm.MatchString(n.text) {
		v, _ := o.number("attempts", 1)
		return int(v)
	}
	v, err := strconv.Atoi(n.text)
	if err != nil || v < 1 || v > MaxAttempts {
		o.p.at(codeValue, n.word(), "leave `attempts` out for no limit",
			"%s: expected a number from 1 to %d instead of %s", o.at("attempts"), MaxAttempts, n.text)
		return 0
	}
	return v
}
