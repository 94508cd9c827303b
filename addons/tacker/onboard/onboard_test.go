package onboard

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
)

// tacker answers as Tacker's API of packages does.
type tacker struct {
	mu       sync.Mutex
	packages []map[string]any
	uploads  int
	// refuses puts packages back, bare is the older form of lists, looks is how often a package is being read.
	refuses, bare bool
	looks         int
}

func (k *tacker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/vnfpkgm/v1/vnf_packages"), "/")
	if len(parts) == 1 {
		k.all(w, r)
		return
	}
	for i, p := range k.packages {
		if p["id"] != parts[1] {
			continue
		}
		switch {
		case r.Method == http.MethodPut && parts[2] == "package_content" && r.Header.Get("Content-Type") == "application/zip":
			content, _ := io.ReadAll(r.Body)
			k.uploads++
			k.looks, p["onboardingState"], p["content"] = 2, "UPLOADING", string(content)
			w.WriteHeader(http.StatusAccepted)
		case r.Method == http.MethodPatch && p["onboardingState"] == "ONBOARDED":
			var body map[string]any
			_ = json.NewDecoder(r.Body).Decode(&body)
			p["operationalState"] = body["operationalState"]
			_ = json.NewEncoder(w).Encode(body)
		case r.Method == http.MethodDelete && (p["operationalState"] == "ENABLED" || p["usageState"] == "IN_USE"):
			w.WriteHeader(http.StatusConflict)
		case r.Method == http.MethodDelete:
			k.packages = append(k.packages[:i:i], k.packages[i+1:]...)
			w.WriteHeader(http.StatusNoContent)
		default:
			k.read(p)
			_ = json.NewEncoder(w).Encode(p)
		}
		return
	}
	w.WriteHeader(http.StatusNotFound)
}

// read goes on with a package that was uploaded.
func (k *tacker) read(p map[string]any) {
	if p["onboardingState"] != "UPLOADING" {
		return
	}
	if k.looks--; k.looks > 0 {
		return
	}
	p["onboardingState"], p["vnfdId"] = "ONBOARDED", p["content"]
	if k.refuses {
		p["onboardingState"] = "CREATED"
	}
}

func (k *tacker) all(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		p := map[string]any{"id": fmt.Sprint("id-", k.uploads), "onboardingState": "CREATED", "operationalState": "DISABLED"}
		k.packages = append(k.packages, p)
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(p)
		return
	}
	page := append([]map[string]any{}, k.packages...)
	if r.URL.Query().Get("all_records") != "yes" {
		page = page[:min(len(page), 100)]
	}
	var list any = page
	if !k.bare {
		list = map[string]any{"vnf_packages": list}
	}
	_ = json.NewEncoder(w).Encode(list)
}

func store(t *testing.T, k *tacker) Store {
	t.Helper()
	server := httptest.NewServer(k)
	t.Cleanup(server.Close)
	return Store{Client: &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: server.URL + "/"}, Pause: time.Millisecond}
}

// TestAPackageIsUploadedOnce in both forms of the list, and enabled.
func TestAPackageIsUploadedOnce(t *testing.T) {
	t.Parallel()
	for _, bare := range []bool{false, true} {
		k := &tacker{bare: bare}
		s := store(t, k)
		for run := range 3 {
			if run == 2 { // somebody has disabled it
				k.packages[0]["operationalState"] = "DISABLED"
			}
			uploaded, err := s.Ensure(t.Context(), "one", []byte("one"))
			if err != nil || uploaded != (run == 0) || k.uploads != 1 || len(k.packages) != 1 || k.packages[0]["operationalState"] != "ENABLED" {
				t.Errorf("run %d: %v, %v, %v", run, uploaded, err, k.packages)
			}
		}
		if uploaded, err := s.Ensure(t.Context(), "two", []byte("two")); err != nil || !uploaded || len(k.packages) != 2 {
			t.Errorf("another package: %v, %v", uploaded, err)
		}
	}
}

// TestARefusedPackageDoesNotStay: Tacker reads a package after the upload was answered.
func TestARefusedPackageDoesNotStay(t *testing.T) {
	t.Parallel()
	k := &tacker{refuses: true}
	_, err := store(t, k).Ensure(t.Context(), "one", []byte("one"))
	if err == nil || !strings.Contains(err.Error(), "Tacker refused") || len(k.packages) != 0 {
		t.Errorf("%v, %v", err, k.packages)
	}
}

// TestPackagesAreTakenBack that are named, wherever they are in the list; the others stay.
func TestPackagesAreTakenBack(t *testing.T) {
	t.Parallel()
	k := &tacker{}
	for n := range 101 {
		k.packages = append(k.packages, map[string]any{"id": fmt.Sprint("other-", n), "vnfdId": fmt.Sprint("other-", n), "onboardingState": "ONBOARDED", "operationalState": "ENABLED"})
	}
	s := store(t, k)
	if _, err := s.Ensure(t.Context(), "one", []byte("one")); err != nil {
		t.Fatal(err)
	}
	if uploaded, err := s.Ensure(t.Context(), "one", []byte("one")); err != nil || uploaded || len(k.packages) != 102 {
		t.Errorf("behind a hundred others: %v, %v, %d packages", uploaded, err, len(k.packages))
	}
	for range 2 {
		if err := s.Remove(t.Context(), []string{"one", "two"}); err != nil || len(k.packages) != 101 {
			t.Errorf("%v, %d packages", err, len(k.packages))
		}
	}
	k.packages[3]["usageState"] = "IN_USE"
	if err := s.Remove(t.Context(), []string{"other-3"}); err == nil || !strings.Contains(err.Error(), "other-3") || len(k.packages) != 101 {
		t.Errorf("one in use: %v, %d packages", err, len(k.packages))
	}
}
