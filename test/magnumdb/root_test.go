package magnumdb

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// root is a folder with Debian's magnum, MariaDB and PostgreSQL, and both servers
// running in it.
type root struct {
	t                *testing.T
	dir              string
	mariadb, postgre int
	// authorities is a file with certificates, the same for all databases.
	authorities string
}

// in is a command inside of the folder, with its own mounts and processes.
func (r *root) in(args ...string) *exec.Cmd {
	script := `mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && exec chroot "$0" "$@"`
	return exec.CommandContext(r.t.Context(), "unshare", append([]string{"--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, r.dir}, args...)...)
}

func (r *root) run(args ...string) string {
	r.t.Helper()
	cmd := r.in(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		r.t.Fatalf("%v: %v\n%s%s", args, err, out.String(), errs.String())
	}
	return out.String()
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// start starts the servers, or skips the test.
func start(t *testing.T) *root {
	t.Helper()
	dir := os.Getenv("SLIPWAY_MAGNUM_ROOT")
	if dir == "" {
		t.Skip("SLIPWAY_MAGNUM_ROOT names no folder with Magnum: run make magnum-databases")
	}
	r := &root{t: t, dir: dir, mariadb: freePort(t), postgre: freePort(t)}
	work, err := os.MkdirTemp(dir, "moving-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(work) })
	if err := os.Chmod(work, 0o755); err != nil {
		t.Fatal(err)
	}
	inside := "/" + filepath.Base(work)
	for _, name := range []string{"fill.py", "ask.py", "api.py", "serve.sh"} {
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(work, name), text, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r.authorities = inside + "/authorities.json"
	cmd := r.in("sh", inside+"/serve.sh", inside, fmt.Sprint(r.mariadb), fmt.Sprint(r.postgre))
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { input.Close(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(output).ReadString('\n'); strings.TrimSpace(line) != "ready" {
		for _, log := range []string{"mariadb.log", "postgres.log"} {
			text, _ := os.ReadFile(filepath.Join(work, log))
			t.Logf("%s:\n%s", log, text)
		}
		t.Fatalf("the servers said %q, %v", line, err)
	}
	go io.Copy(io.Discard, output) //nolint:errcheck // nothing more is said
	return r
}

func (r *root) script(name string) string { return filepath.Dir(r.authorities) + "/" + name }

// server is one of the two.
type server struct {
	name, scheme string
	port         int
	root         *root
}

func (r *root) servers() []server {
	return []server{{"mariadb", "mysql+pymysql", r.mariadb, r}, {"postgresql", "postgresql+psycopg2", r.postgre, r}}
}

func (s server) url(database string) string {
	return fmt.Sprintf("%s://magnum:secret@127.0.0.1:%d/%s", s.scheme, s.port, database)
}

// make creates a database of a revision, with rows.
func (s server) make(database, revision string) {
	r := s.root
	r.t.Helper()
	if s.name == "mariadb" {
		r.run("mariadb", "-h127.0.0.1", "-P"+fmt.Sprint(s.port), "-umagnum", "-psecret", "-e", "CREATE DATABASE "+database+" CHARACTER SET utf8")
	} else {
		r.run("psql", s.plain("postgres"), "-qc", "CREATE DATABASE "+database)
	}
	conf := r.script(database + "-" + s.name + ".conf")
	if err := os.WriteFile(filepath.Join(r.dir, conf), []byte("[database]\nconnection = "+s.url(database)+"\n"), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if s.name == "mariadb" {
		r.run("magnum-db-manage", "--config-file", conf, "upgrade", revision)
	} else {
		r.run("python3", "-c", fromModels, s.url(database))
		r.run("magnum-db-manage", "--config-file", conf, "stamp", revision)
	}
	r.run("python3", r.script("fill.py"), s.url(database), r.authorities)
}

// fromModels makes the newest schema of Magnum's models: its migrations have an
// UPDATE … INNER JOIN, which PostgreSQL does not know.
const fromModels = `import sys, sqlalchemy
from magnum.db.sqlalchemy import models
models.Base.metadata.create_all(sqlalchemy.create_engine(sys.argv[1]))`

func (s server) plain(database string) string {
	return strings.Replace(s.url(database), s.scheme, "postgresql", 1)
}

// dump is a dump by the server's own program.
func (s server) dump(database string) string {
	if s.name == "mariadb" {
		return s.root.run("mariadb-dump", "-h127.0.0.1", "-P"+fmt.Sprint(s.port), "-umagnum", "-psecret", "--single-transaction", database)
	}
	return s.root.run("pg_dump", "--format=plain", s.plain(database))
}
