package database

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// dumps are by mariadb-dump and pg_dump, of schemas that Magnum itself made; make
// magnum-databases makes them.
func dumps(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.sql")
	if err != nil || len(files) < 5 {
		t.Fatalf("%v, %v", files, err)
	}
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = string(text)
	}
	return all
}

func parse(t *testing.T, name, text string) *Database {
	t.Helper()
	d, err := Parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDumps: the same rows come out of each database and of each schema, as far as
// it has the columns.
func TestDumps(t *testing.T) {
	t.Parallel()
	all := dumps(t)
	newest := parse(t, "newest", all["mariadb-b3e1cf4a2d5e.sql"])
	if len(newest.Clusters) != 7 || len(newest.Groups) != 15 || len(newest.Templates) != 3 || len(newest.Quotas) != 1 || len(newest.KeyPairs) != 3 {
		t.Fatalf("%d clusters, %d groups, %d templates", len(newest.Clusters), len(newest.Groups), len(newest.Templates))
	}
	half := newest.Clusters[6]
	if half.StatusReason != "Quota exceeded; \"cores\"\nline two\ttab \\ back" || half.StackID != "" || half.Updated != nil {
		t.Errorf("%+v", half)
	}
	shop := newest.Clusters[0]
	if shop.Labels["our_own_label"] != "it's \"kept\"\\n\u00e9" || shop.Created.Format("15:04:05") != "09:01:12" || !shop.MasterLBEnabled {
		t.Errorf("%+v", shop)
	}
	gpu := newest.Groups[2]
	if diff := cmp.Diff([]map[string]string{{"key": "gpu", "value": "true", "effect": "NoSchedule"}}, gpu.NodeTaints); diff != "" || *gpu.MaxNodeCount != 3 || gpu.IsDefault {
		t.Errorf("%+v %s", gpu, diff)
	}
	for name, text := range all {
		d := parse(t, name, text)
		if d.Releases == "" || !strings.Contains(name, d.Revision) {
			t.Errorf("%s is of %s (%s)", name, d.Revision, d.Releases)
		}
		want := *newest
		want.Revision, want.Releases = d.Revision, d.Releases
		trim(&want, d.Revision)
		if diff := cmp.Diff(&want, d); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// trim takes away what a schema has no columns for.
func trim(d *Database, revision string) {
	d.Clusters, d.Groups, d.Templates = append([]Cluster{}, d.Clusters...), append([]NodeGroup{}, d.Groups...), append([]Template{}, d.Templates...)
	for i := range d.Clusters {
		if revision == "7da8489d6a68" || revision == "c0f832afc4fd" {
			d.Clusters[i].TrustID, d.Clusters[i].TrusteeID = strings.Repeat("ab", 16), strings.Repeat("cd", 16)
		}
	}
	for i := range d.Groups {
		if revision != "b3e1cf4a2d5e" {
			d.Groups[i].NodeLabels, d.Groups[i].NodeTaints = nil, nil
		}
	}
	for i := range d.Templates {
		if revision == "7da8489d6a68" {
			d.Templates[i].Driver = ""
		}
	}
}

// TestBadDumps: each is told by what is wrong with it.
func TestBadDumps(t *testing.T) {
	t.Parallel()
	all := dumps(t)
	my, pg := all["mariadb-b3e1cf4a2d5e.sql"], all["postgresql-b3e1cf4a2d5e.sql"]
	for name, test := range map[string]struct{ text, says string }{
		"empty":           {"", "its end is missing"},
		"cut in a row":    {my[:strings.Index(my, "shop-prod-k3v9")], "has no end"},
		"cut after rows":  {my[:strings.Index(my, "-- Dump completed")], "its end is missing"},
		"cut in COPY":     {pg[:strings.Index(pg, "COPY public.nodegroup")] + "COPY public.nodegroup (id) FROM stdin;\n1\n", "have no end"},
		"another version": {strings.ReplaceAll(my, "b3e1cf4a2d5e", "0123456789ab"), "its schema is of revision 0123456789ab"},
		"no revision":     {strings.ReplaceAll(my, "('b3e1cf4a2d5e')", "(NULL)"), "column version_num: it is empty"},
		"table missing":   {strings.ReplaceAll(my, "`nodegroup`", "`other`"), "table nodegroup: it is missing"},
		"two databases":   {my + my, "is there a second time"},
		"data only":       {my[strings.Index(my, "INSERT INTO `cluster`"):], "has rows and no definition"},
		"values missing":  {strings.Replace(my, "'shop-prod',", "", 1), "values for"},
		"no JSON":         {strings.Replace(my, `'{\"auto_healing_enabled\"`, `'{\"auto_healing_enabled`, 1), "it is not the JSON that Magnum writes"},
		"no number":       {strings.Replace(pg, "\tCluster\t5", "\tCluster\tfive", 1), "it is not a number"},
		"pg_dump's own":   {"PGDMP\x01", "compressed"},
		"gzip":            {"\x1f\x8b\x08", "compressed"},
		"something else":  {"hello", "has no end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("the dump", test.text)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v", err)
			}
			if err != nil && strings.Contains(err.Error(), "PRIVATE KEY") {
				t.Error("a key is in the error")
			}
		})
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	conf := file("magnum.conf", "[DEFAULT]\n#connection = x\n[database]\nconnection = mysql+pymysql://magnum:hush@db/magnum?charset=utf8\n[certificates]\ncert_manager_type = barbican\n[capi_helm]\nnamespace_prefix=magnum\n")
	s, err := Find(conf)
	if err != nil || s.Settings.CertificateStore != "barbican" || s.Settings.NamespacePrefix != "magnum" || s.address == nil || strings.Contains(s.Name, "hush") {
		t.Errorf("%+v %v", s, err)
	}
	if s, err = Find(file("url", "postgresql+psycopg2://magnum:hush@db:5432/magnum\n")); err != nil || s.address.Port() != "5432" {
		t.Errorf("%+v %v", s, err)
	}
	if s, err = Find("mysql://magnum@db/magnum"); err != nil || s.address.Host != "db" {
		t.Errorf("%+v %v", s, err)
	}
	for where, says := range map[string]string{
		"mysql://magnum:hush@db/magnum":      "the URL has a password",
		"mysql://magnum@db":                  "no host or no database",
		filepath.Join(dir, "none"):           "neither a URL nor a file",
		file("bad", "mysql://a:%zz@db/m"):    "cannot be read",
		file("nothing", "mysql:///magnum\n"): "no host or no database",
	} {
		if _, err := Find(where); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", where, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"mariadb-b3e1cf4a2d5e.sql", "postgresql-b3e1cf4a2d5e.sql"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("INSERT INTO cluster VALUES (1,'\\")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = Parse("dump", text) }) // it ends, and does not panic
}
