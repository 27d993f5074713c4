// Package count proves what holds across the records of one group, however many
// there are: `unique`, `none`, `fewer` and the projection.
//
// A group is the set of records that share a key. Nothing that a rule across
// records can see tells two records of a group in the same state apart, so a
// group is described by how many of its records are in each state. The counts
// saturate: a state that no rule names needs "none, one, many", a state under
// `fewer: {than: 5}` or `at_least: 5` is counted up to 5. That leaves finitely
// many abstract groups, and [Explore] walks through all that can be reached from
// the empty one.
//
// It guarantees that every step which records can take is a step of the walk, so
// "no step breaks it" holds for any number of records, whatever clocks, owners
// and inputs do: guards on those may go either way.
//
// It does not look at fields, so it may walk into groups that guards on fields
// keep out; a rule that only they carry is reported as not carried. Steps of one
// transaction (`then`) are one step, since nobody sees what is between them. The
// removal of finished records by Purge is no step.
package count
