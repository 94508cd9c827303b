package openstack

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/pulumi/pulumi-go-provider/infer"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// watched does something before each request.
type watched struct{ before func(*http.Request) }

func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	w.before(r)
	return http.DefaultTransport.RoundTrip(r)
}

// contender is an environment in the project of a login, with something that is done before each
// of its administrator's requests.
func contender(t *testing.T, box *sandboxtest.Cloud, login *gophercloud.ServiceClient, before func(*http.Request)) catalogKind {
	t.Helper()
	boss := box.Login(t, sandboxtest.User("admin", box.Passwords().Admin, "admin"))
	boss.Provider.HTTPClient.Transport = watched{before}
	client := boss.Identity(t)
	return catalogKind{administrator: func(context.Context) (*gophercloud.ServiceClient, string, error) { return client, "default", nil },
		clients: homed{placed{region: "RegionOne"}, login}}
}

// last is the last part of a request's path.
func last(r *http.Request) string { return r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:] }

// begin creates the entry as a first up does.
func (k catalogKind) begin(ctx context.Context, in CatalogEntryInputs) error {
	entry := catalogEntry{controller[CatalogEntryInputs, CatalogEntryState]{k}}
	_, err := entry.Create(ctx, infer.CreateRequest[CatalogEntryInputs]{Inputs: in})
	return err
}

// refusedBy checks that the catalog is refused because of the environment of another project.
func refusedBy(t *testing.T, err error, holder catalogKind) {
	t.Helper()
	if fault.ExitCode(err) != fault.ExitPreflight || err == nil || !strings.Contains(err.Error(), "environment prod of project "+homeOf(holder.clients)+" has it in region RegionOne") {
		t.Errorf("refused with %v, exit code %d", err, fault.ExitCode(err))
	}
}

// TestOneOfTwoThatBeginAtTheSameMomentHasTheCatalog: both found it free, and create what they found
// missing when the other has looked, too.
func TestOneOfTwoThatBeginAtTheSameMomentHasTheCatalog(t *testing.T) {
	t.Parallel()
	for name, there := range map[string]bool{"each makes the service": false, "the service is there": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box := sandboxtest.Start(t)
			client := box.Admin.Identity(t)
			if there {
				if err := services.Create(t.Context(), client, services.CreateOpts{Type: "container-infra", Name: "magnum"}).Err; err != nil {
					t.Fatal(err)
				}
			}
			meet := map[string]*sync.WaitGroup{"services": {}, "endpoints": {}}
			for _, m := range meet {
				m.Add(2)
			}
			var both []catalogKind
			failed, addresses := make([]error, 2), []string{"one", "other"}
			var group sync.WaitGroup
			for i, login := range []*gophercloud.ServiceClient{box.Member.Identity(t), client} {
				arrive := map[string]func(){}
				for at, m := range meet {
					arrive[at] = sync.OnceFunc(m.Done)
				}
				kind := contender(t, box, login, func(r *http.Request) {
					if at := last(r); r.Method == http.MethodPost && meet[at] != nil {
						arrive[at]()
						meet[at].Wait()
					}
				})
				both = append(both, kind)
				group.Go(func() {
					failed[i] = kind.begin(t.Context(), entryAt(addresses[i]))
					for _, come := range arrive {
						come() // nobody waits for one that has ended
					}
				})
			}
			group.Wait()
			winner := slices.IndexFunc(failed, func(err error) bool { return err == nil })
			if winner < 0 || failed[1-winner] == nil {
				t.Fatalf("ended with %v", failed)
			}
			refusedBy(t, failed[1-winner], both[winner])
			if got, want := served(t, client), []string{entryAt(addresses[winner]).URL + " on"}; !slices.Equal(got, want) {
				t.Errorf("catalog %q, want %q", got, want)
			}
			if list := ofType(t, client, "container-infra"); len(list) != 1 {
				t.Errorf("there are %d services: %v", len(list), list)
			}
		})
	}
}

// TestWhoClaimsLaterWithdraws: the other one looked before the claim was there, and does not look
// again, whichever ID is smaller.
func TestWhoClaimsLaterWithdraws(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	client := box.Admin.Identity(t)
	other := contender(t, box, client, func(*http.Request) {})
	first := sync.OnceFunc(func() {
		if err := other.begin(t.Context(), entryAt("other")); err != nil {
			t.Error(err)
		}
	})
	one := contender(t, box, box.Member.Identity(t), func(r *http.Request) {
		if r.Method == http.MethodPost && last(r) == "endpoints" {
			first()
		}
	})
	refusedBy(t, one.begin(t.Context(), entryAt("one")), other)
	if got, want := served(t, client), []string{"https://other:9511/v1 on"}; !slices.Equal(got, want) {
		t.Errorf("catalog %q, want %q", got, want)
	}
	if err := other.begin(t.Context(), entryAt("other")); err != nil {
		t.Errorf("the holder, whose state is lost: %v", err)
	}
}

// TestAClaimOfAKilledRunIsContendedForAgain: it is no entry yet, but others wait for its end. Of two
// services, each environment has the one that it made.
func TestAClaimOfAKilledRunIsContendedForAgain(t *testing.T) {
	t.Parallel()
	client, one, other := namesakes(t)
	made := map[string]catalogKind{}
	for _, k := range []catalogKind{one, other} {
		id, err := k.make(t.Context(), entryAt("any"))
		if err != nil {
			t.Fatal(err)
		}
		made[id] = k
	}
	for id, k := range made {
		if got, err := k.find(t.Context(), entryAt("any")); err != nil || got != id {
			t.Errorf("made %s and finds %s, %v", id, got, err)
		}
	}
	in := entryAt("one")
	id, err := one.find(t.Context(), in)
	if err == nil {
		err = one.claim(t.Context(), id, in, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	err = CatalogFree(t.Context(), other.administrator, other.clients, entryAt("other"))
	refusedBy(t, err, one)
	if !strings.Contains(fault.Remedy(err), "run openstack endpoint delete") {
		t.Errorf("fix %q", fault.Remedy(err))
	}
	refusedBy(t, other.begin(t.Context(), entryAt("other")), one)
	if got, want := served(t, client), []string{in.URL + " off"}; !slices.Equal(got, want) {
		t.Errorf("claimed %q, want %q", got, want)
	}
	if err := CatalogFree(t.Context(), one.administrator, one.clients, in); err != nil {
		t.Error(err)
	}
	if err := one.begin(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	list, err := one.everywhere(t.Context(), in)
	if err != nil || len(list) != 3 || slices.ContainsFunc(list, claimed) {
		t.Errorf("endpoints %+v, %v", list, err)
	}
	if got, want := served(t, client), []string{in.URL + " on"}; !slices.Equal(got, want) {
		t.Errorf("catalog %q, want %q", got, want)
	}
}

// TestAClaimThatAnotherProjectsEntryOvertookGoes, as of a run that was killed before it withdrew.
func TestAClaimThatAnotherProjectsEntryOvertookGoes(t *testing.T) {
	t.Parallel()
	client, one, other := namesakes(t)
	id, _ := other.register(t, entryAt("other"))
	in := entryAt("one")
	if err := one.claim(t.Context(), id, in, nil); err != nil {
		t.Fatal(err)
	}
	refusedBy(t, CatalogFree(t.Context(), one.administrator, one.clients, in), other)
	refusedBy(t, one.begin(t.Context(), in), other)
	if got, want := served(t, client), []string{"https://other:9511/v1 on"}; !slices.Equal(got, want) {
		t.Errorf("catalog %q, want %q", got, want)
	}
}
