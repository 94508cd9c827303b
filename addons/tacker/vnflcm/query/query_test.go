package query

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

func document(t *testing.T) map[string]any {
	t.Helper()
	var d map[string]any
	if err := json.Unmarshal([]byte(`{"id":"i1","name":"it's (a, b)","size":10,"on":true,"a/b":"slash","m":{"k1":{"v":1},"k2":{"v":2}},
		"info":{"list":[{"id":"x","n":1},{"id":"y","n":2}],"flavour":"f"},"nothing":null}`), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// proves: T-22
func TestFilter(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]bool{
		"(eq,id,i1)": true, "(eq,id,i2)": false, "(neq,id,i2)": true, "(neq,id,i1)": false, "(neq,absent,x)": false,
		"(gt,size,9)": true, "(gt,size,10)": false, "(gte,size,10)": true, "(lt,size,9)": false, "(lt,size,11)": true, "(lte,size,10)": true,
		"(gt,id,i0)": true, "(lt,id,i0)": false,
		"(in,id,i0,i1)": true, "(in,id,i0)": false, "(nin,id,i0,i2)": true, "(nin,id,i0,i1)": false,
		"(cont,id,zz,1)": true, "(cont,id,zz)": false, "(ncont,id,zz)": true, "(ncont,id,zz,1)": false,
		"(eq,on,true)": true, "(eq,name,'it''s (a, b)')": true, "(cont,name,'a, b')": true, "(eq,a~1b,slash)": true,
		"(eq,info/list/id,y)": true, "(eq,info/list/id,z)": false, "(neq,info/list/id,y)": false, "(gt,info/list/n,1)": true,
		"(eq,m/@key,k2)": true, "(eq,m/@key,k3)": false, "(eq,m/k1/v,1)": true,
		"(eq,id,i1);(eq,on,true)": true, "(eq,id,i1);(eq,on,false)": false, "(eq,nothing,x)": false, "(eq,info,x)": false, "(eq,id/deep,x)": false,
	} {
		f, err := ParseFilter(expression)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
		} else if f.Match(document(t)) != want {
			t.Errorf("%s: not %t", expression, want)
		}
	}
	for _, broken := range []string{"", "eq,id,i1", "(eq,id)", "(eq,id,a,b)", "(like,id,a)", "(eq,id,a", "(eq,id,'a)", "(eq,id,a(b)", "(eq,id,a);", "(eq,id,a)(eq,id,b)", "(eq,,a)",
		"(eq,a//b,c)", "(eq,a~2,c)", "(eq,a~,c)", "(eq,a@b,c)", "(eq,id,'a'b)", "(eq,id,a'b)", "()"} {
		if f, err := ParseFilter(broken); err == nil {
			t.Errorf("%s is read as %v", broken, f)
		}
	}
}

// proves: T-22
func TestSelector(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":                             "a/b id m name nothing on size",
		"all_fields":                   "a/b id info m name nothing on size",
		"exclude_default":              "a/b id m name nothing on size",
		"fields=info":                  "a/b id info m name nothing on size",
		"fields=info/flavour":          "a/b id info m name nothing on size",
		"exclude_fields=m,size,on":     "a/b id info name nothing",
		"exclude_fields=id":            "a/b id info m name nothing on size", // mandatory
		"fields=info&exclude_default=": "a/b id info m name nothing on size",
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseSelector(values, "info")
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		d := document(t)
		s.Apply(d, "id")
		for _, name := range strings.Fields(want) {
			if _, ok := d[name]; !ok {
				t.Errorf("%s: %s is missing", query, name)
			}
		}
		if len(d) != len(strings.Fields(want)) {
			t.Errorf("%s: %v", query, d)
		}
		if info, _ := d["info"].(map[string]any); query == "fields=info/flavour" && !reflect.DeepEqual(info, map[string]any{"flavour": "f"}) {
			t.Errorf("%s: %v", query, info)
		}
	}
	s, err := ParseSelector(url.Values{"exclude_fields": {"info/list/n"}})
	if err != nil {
		t.Fatal(err)
	}
	d := document(t)
	if s.Apply(d); !reflect.DeepEqual(d["info"].(map[string]any)["list"], []any{map[string]any{"id": "x"}, map[string]any{"id": "y"}}) {
		t.Errorf("%v", d)
	}
	for _, query := range []string{"all_fields&fields=a", "all_fields&exclude_fields=a", "all_fields&exclude_default", "fields=a&exclude_fields=b", "exclude_fields=a&exclude_default", "fields=", "fields=a~"} {
		values, _ := url.ParseQuery(query)
		if _, err := ParseSelector(values); err == nil {
			t.Errorf("%s is taken", query)
		}
	}
}

// proves: T-22
func TestPage(t *testing.T) {
	t.Parallel()
	items, same := strings.Fields("a b c d e"), func(s string) string { return s }
	var seen []string
	values := url.Values{"filter": {"(eq,id,x)"}}
	for pages := 0; values != nil; pages++ {
		page, next, err := Page(items, same, 2, values)
		if err != nil || pages > 2 || next != nil && next.Get("filter") != "(eq,id,x)" {
			t.Fatalf("page %d: %v, %v", pages, next, err)
		}
		seen, values = append(seen, page...), next
	}
	if !reflect.DeepEqual(seen, items) {
		t.Errorf("seen %v", seen)
	}
	_, next, _ := Page(items, same, 2, url.Values{})
	if page, _, err := Page([]string{"a", "d"}, same, 2, next); err != nil || !reflect.DeepEqual(page, []string{"d"}) {
		t.Errorf("after b and c have gone: %v, %v", page, err)
	}
	if page, next, err := Page(items, same, 0, url.Values{}); len(page) != 5 || next != nil || err != nil {
		t.Errorf("without pages: %v %v %v", page, next, err)
	}
	for _, bad := range []string{"", "!", "YWJj", "MTo"} {
		if _, _, err := Page(items, same, 2, url.Values{Marker: {bad}}); err == nil {
			t.Errorf("marker %q is taken", bad)
		}
	}
}
