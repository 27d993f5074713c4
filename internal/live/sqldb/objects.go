package sqldb

import (
	"context"
	"errors"
	"strings"
)

// Object is an index or a trigger of a SQLite file.
type Object struct{ Kind, Name, SQL string }

// Objects returns the indexes and triggers over one table of a SQLite file.
func Objects(ctx context.Context, path, table string) (list []Object, err error) {
	db, err := open(Address{Text: path, Dialect: "sqlite", Shown: path})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, `SELECT "type", "name", "sql" FROM sqlite_master
		WHERE lower("tbl_name") = ? AND "type" IN ('index', 'trigger') AND "sql" IS NOT NULL ORDER BY "type", "name"`, strings.ToLower(table))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var o Object
		if err := rows.Scan(&o.Kind, &o.Name, &o.SQL); err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, rows.Err()
}
