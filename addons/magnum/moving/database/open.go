package database

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/slipway-sh/slipway/internal/fault"
)

// maxDump is how large a dump may be: Magnum's own tables are small.
const maxDump = 1 << 30

// Source is where a database is read from.
type Source struct {
	// Name is what to call it in messages; it has no password.
	Name string
	// Settings are those of magnum.conf, if that was named.
	Settings Settings

	address *url.URL
	dump    string
}

// Settings are what is read of magnum.conf.
type Settings struct {
	// CertificateStore is [certificates] cert_manager_type.
	CertificateStore string
	// StoragePath is [certificates] storage_path of the store "local".
	StoragePath string
	// NamespacePrefix is [capi_helm] namespace_prefix.
	NamespacePrefix string
}

// address is the beginning of a URL of SQLAlchemy: mysql+pymysql://.
var address = regexp.MustCompile(`^(mysql|mariadb|postgresql|postgres)(\+[a-z0-9]+)?://`)

// Find reads what was named: a URL without a password, or a file that is a dump,
// a magnum.conf, or one line with a URL.
func Find(where string) (*Source, error) { return find("--from-database", where) }

// FindTarget is Find for a database that is to be written.
func FindTarget(where string) (*Source, error) {
	const flag = "--to-database"
	s, err := find(flag, where)
	if err == nil && s.address == nil {
		return nil, fault.Usage(flag, errors.New(s.Name+" is a dump, and a dump is not written"), "name magnum.conf, or a file with the URL of Magnum's running database")
	}
	return s, err
}

func find(flag, where string) (*Source, error) {
	if address.MatchString(where) {
		s, err := at(flag, where)
		if err != nil {
			return nil, err
		}
		if _, has := s.address.User.Password(); has {
			return nil, fault.Usage(flag, errors.New("the URL has a password, which every user of this machine could read"),
				"write the URL into a file of mode 0600 and name the file, or name magnum.conf")
		}
		return s, nil
	}
	info, err := os.Stat(where)
	if err != nil {
		return nil, fault.Usage(flag, fmt.Errorf("it is neither a URL nor a file: %w", err), "name a URL such as mysql://magnum@db.example/magnum, magnum.conf, or a dump")
	}
	if info.Size() > maxDump {
		return nil, fault.New(where, errors.New("it is larger than 1 GiB"), "dump the database of Magnum alone")
	}
	text, err := os.ReadFile(where)
	if err != nil {
		return nil, fault.New(where, err, "let this user read it")
	}
	return read(flag, where, string(text))
}

// read tells kinds of files apart by what is in them.
func read(flag, name, text string) (*Source, error) {
	trimmed := strings.TrimSpace(text)
	if address.MatchString(trimmed) && !strings.Contains(trimmed, "\n") {
		return at(flag, trimmed)
	}
	options := parseConfiguration(text)
	if connection := options["database.connection"]; connection != "" {
		s, err := at(flag, connection)
		if err != nil {
			return nil, fault.New(name, err, "correct [database] connection")
		}
		s.Settings = Settings{options["certificates.cert_manager_type"], options["certificates.storage_path"], options["capi_helm.namespace_prefix"]}
		return s, nil
	}
	return &Source{Name: name, dump: text}, nil
}

// parseConfiguration reads oslo.config's files as far as they are needed here.
func parseConfiguration(text string) map[string]string {
	if len(text) > 1<<20 {
		return nil // no magnum.conf is that long; dumps are
	}
	options, section := map[string]string{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			section = strings.Trim(line, "[]")
			continue
		}
		if key, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") && section != "" {
			options[section+"."+strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return options
}

// at reads a URL. Its errors quote no password.
func at(flag, text string) (*Source, error) {
	parsed, err := url.Parse(text)
	if err != nil {
		return nil, fault.Usage(flag, errors.New("its URL cannot be read"), "write special characters of the password as %XX")
	}
	if parsed.Host == "" || strings.Trim(parsed.Path, "/") == "" {
		return nil, fault.Usage(flag, errors.New("its URL names no host or no database"), "write it as mysql://user@host/magnum")
	}
	return &Source{Name: parsed.Redacted(), address: parsed}, nil
}

// Read reads the database.
func (s *Source) Read(ctx context.Context) (*Database, error) {
	if s.address == nil {
		return Parse(s.Name, s.dump)
	}
	db, err := connect(s.address)
	if err != nil {
		return nil, fault.New(s.Name, err, "correct the URL")
	}
	defer db.Close()
	all, err := queryAll(ctx, db)
	if err != nil {
		return nil, fault.New(s.Name, err, "check address, user and password, and that the user may read all tables of Magnum")
	}
	return decode(all)
}
