package callback

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// TestReachable: what is not public is reached only if the operator allows it, and the
// metadata service never.
//
// proves: T-23
func TestReachable(t *testing.T) {
	t.Parallel()
	open, err := NewRules(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := NewRules([]string{"0.0.0.0/0", "::/0"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][2]bool{
		"8.8.8.8": {true, true}, "2600::1": {true, true},
		"127.0.0.1": {false, true}, "10.96.0.1": {false, true}, "172.16.0.1": {false, true}, "192.168.1.1": {false, true}, "100.64.0.1": {false, true}, "::1": {false, true}, "fd00::1": {false, true},
		"::ffff:10.0.0.1": {false, true}, "64:ff9b::a00:1": {false, true}, "2002:a00:1::": {false, true}, "198.18.0.1": {false, true}, "240.0.0.1": {false, true},
		"169.254.169.254": {false, false}, "::ffff:169.254.169.254": {false, false}, "fe80::1%eth0": {false, false}, "fd00:ec2::254": {false, false}, "0.0.0.0": {false, false}, "::": {false, false}, "224.0.0.1": {false, false}, "ff02::1": {false, false},
	} {
		ip := netip.MustParseAddr(text)
		if got := [2]bool{open.reachable(ip, false), all.reachable(ip, false)}; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	r, err := NewRules([]string{"nfvo.example", "10.20.0.0/16", "192.0.2.7"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for address, ok := range map[string]bool{
		"https://example.org/x": true, "http://example.org/x": false, "http://nfvo.example/x": true, "http://NFVO.example:8080": true, "https://10.20.1.1": true, "http://10.20.1.1": true,
		"https://10.21.1.1": false, "http://192.0.2.7": true, "https://192.0.2.8": false, "https://[::ffff:169.254.169.254]/": false, "gopher://nfvo.example": false, "https://": false, "x": false,
		"https://a:b@nfvo.example": false, "https://nfvo.example/#x": false, "://": false, "file:///etc/passwd": false,
	} {
		if err := r.Check(address); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, bad := range []string{"", "https://x", "10.0.0.0/40", "a b", "*.example"} {
		if _, err := NewRules([]string{bad}, nil); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if _, err := NewRules(nil, []byte("x")); err == nil {
		t.Error("certificates of nothing are taken")
	}
}

// TestNamesAreResolvedFirst: a name that leads to an address inside does not get there,
// nor does a redirection.
func TestNamesAreResolvedFirst(t *testing.T) {
	t.Parallel()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; r.URL.Path == "/to" {
			http.Redirect(w, r, "/from", http.StatusFound)
		}
	}))
	defer server.Close()
	closed, err := NewRules(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	inside := strings.Replace(server.URL, "http://127.0.0.1", "https://localhost", 1)
	if err := NewCaller(closed).Test(t.Context(), inside, nil); err == nil || !strings.Contains(err.Error(), "not public") || asked != 0 {
		t.Errorf("%v, asked %d times", err, asked)
	}
	named, err := NewRules([]string{"localhost"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := NewCaller(named).Test(t.Context(), strings.Replace(server.URL, "127.0.0.1", "localhost", 1)+"/to", nil); err == nil || !strings.Contains(err.Error(), "302") || asked != 1 {
		t.Errorf("%v, asked %d times", err, asked)
	}
}
