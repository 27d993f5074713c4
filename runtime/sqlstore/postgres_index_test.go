package sqlstore

import "testing"

// What an index has by itself is not said by the catalog: absent values are the last of
// an ascending key.
func TestIndexForm(t *testing.T) {
	t.Parallel()
	const head = `CREATE INDEX "x" ON "t" `
	for ours, catalog := range map[string]string{
		`("a", "b" NULLS LAST, "id")`:       `CREATE INDEX x ON public.t USING btree (a, b, id)`,
		`("b" DESC NULLS LAST, "id")`:       `CREATE INDEX x ON public.t USING btree (b DESC NULLS LAST, id)`,
		`("b", "id") WHERE "b" IS NOT NULL`: `CREATE INDEX x ON public.t USING btree (b, id) WHERE (b IS NOT NULL)`,
		`((` + new(postgres).later(`"due"`, `"weight"`) + `)) WHERE "_open"`: `CREATE INDEX x ON public.t USING btree ((((due - ` +
			`'1969-12-31 19:00:00-05'::timestamp with time zone) + ((weight)::double precision * '00:00:00.000001'::interval)))) WHERE _open`,
	} {
		if indexForm(head+ours) != indexForm(catalog) {
			t.Errorf("%s: %q, the catalog has %q", ours, indexForm(head+ours), indexForm(catalog))
		}
	}
	if indexForm(head+`("b" DESC)`) == indexForm(head+`("b" DESC NULLS LAST)`) {
		t.Error("absent values first and last are taken for the same")
	}
}
