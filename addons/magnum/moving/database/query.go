package database

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// dialTime bounds how long a server may take to answer the first time.
const dialTime = 15 * time.Second

// connect opens a database by SQLAlchemy's URL.
func connect(address *url.URL) (*sql.DB, error) {
	if strings.HasPrefix(address.Scheme, "postgres") {
		return connectPostgres(address)
	}
	return connectMySQL(address)
}

func connectPostgres(address *url.URL) (*sql.DB, error) {
	plain := *address
	plain.Scheme = "postgres"
	config, err := pgx.ParseConfig(plain.String())
	if err != nil {
		return nil, errors.New("its options cannot be read") // the library's words may quote it
	}
	config.ConnectTimeout = dialTime
	return stdlib.OpenDB(*config), nil
}

func connectMySQL(address *url.URL) (*sql.DB, error) {
	config := mysql.NewConfig()
	config.User = address.User.Username()
	config.Passwd, _ = address.User.Password()
	config.Net, config.Addr, config.DBName = "tcp", address.Host, strings.Trim(address.Path, "/")
	if address.Port() == "" {
		config.Addr = net.JoinHostPort(address.Hostname(), "3306")
	}
	options := address.Query()
	if socket := options.Get("unix_socket"); socket != "" {
		config.Net, config.Addr = "unix", socket
	}
	config.Timeout = dialTime
	if file := options.Get("ssl_ca"); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading ssl_ca: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("ssl_ca %s has no certificate", file)
		}
		config.TLS = &tls.Config{RootCAs: pool, ServerName: address.Hostname(), MinVersion: tls.VersionTLS12}
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// queryAll reads all tables as they are at one moment.
func queryAll(ctx context.Context, db *sql.DB) (map[string]*table, error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	all := map[string]*table{}
	for _, name := range wantedTables() {
		t, err := query(ctx, tx, name)
		if missing(err) {
			return all, nil // decode names it
		}
		if err != nil {
			return nil, fmt.Errorf("reading table %s: %w", name, err)
		}
		all[name] = t
	}
	return all, nil
}

// query reads a table; names are ours and need no quotes.
func query(ctx context.Context, tx *sql.Tx, name string) (*table, error) {
	statement := "SELECT * FROM " + name
	if name != revisionTable {
		statement += " ORDER BY id" // PostgreSQL puts a row that was changed elsewhere
	}
	return queryRows(ctx, tx, name, statement)
}

func queryRows(ctx context.Context, tx *sql.Tx, name, statement string, arguments ...any) (*table, error) {
	rows, err := tx.QueryContext(ctx, statement, arguments...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	t := &table{name: name}
	if t.columns, err = rows.Columns(); err != nil {
		return nil, err
	}
	for rows.Next() {
		cells, into := make([]sql.NullString, len(t.columns)), make([]any, len(t.columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		row := make([]*string, len(cells))
		for i := range cells {
			if cells[i].Valid {
				row[i] = &cells[i].String
			}
		}
		t.rows = append(t.rows, row)
	}
	return t, rows.Err()
}

// missing says that there is no such table.
func missing(err error) bool {
	var my *mysql.MySQLError
	var pg *pgconn.PgError
	return errors.As(err, &my) && my.Number == 1146 || errors.As(err, &pg) && pg.Code == "42P01"
}
