package contract_test

import (
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imageimport"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/members"
)

func TestImageMembers(t *testing.T) {
	t.Parallel()
	owner := member(t).Image(t)
	other := newPerson(t)
	guest := other.clients(t).Image(t)
	v := newImage(t, images.CreateOpts{})
	_, err := images.Get(t.Context(), guest, v.ID).Extract()
	wantStatus(t, err, http.StatusNotFound)

	offer := must[*members.Member](t)(members.Create(t.Context(), owner, v.ID, other.project.ID).Extract())
	if offer.Status != "pending" || offer.MemberID != other.project.ID {
		t.Errorf("offer %+v", offer)
	}
	_, err = members.Create(t.Context(), owner, v.ID, other.project.ID).Extract()
	wantStatus(t, err, http.StatusConflict)
	must[*images.Image](t)(images.Get(t.Context(), guest, v.ID).Extract()) // who knows the id may look
	if ids(t, guest, "")[v.ID] {
		t.Error("a list has an image whose offer is pending")
	}
	if !ids(t, guest, "visibility=shared&member_status=pending")[v.ID] {
		t.Error("pending offers are not listed")
	}
	_, err = members.Update(t.Context(), owner, v.ID, other.project.ID, members.UpdateOpts{Status: "accepted"}).Extract()
	wantStatus(t, err, http.StatusForbidden)
	must[*members.Member](t)(members.Update(t.Context(), guest, v.ID, other.project.ID, members.UpdateOpts{Status: "accepted"}).Extract())
	if !ids(t, guest, "")[v.ID] {
		t.Error("an accepted image is not listed")
	}
	wantStatus(t, images.Delete(t.Context(), guest, v.ID).ExtractErr(), http.StatusForbidden)
	wantStatus(t, members.Delete(t.Context(), guest, v.ID, other.project.ID).ExtractErr(), http.StatusForbidden)
	if err := members.Delete(t.Context(), owner, v.ID, other.project.ID).ExtractErr(); err != nil {
		t.Error(err)
	}
	_, err = images.Get(t.Context(), guest, v.ID).Extract()
	wantStatus(t, err, http.StatusNotFound)
}

func TestImageVisibility(t *testing.T) {
	t.Parallel()
	guest := newPerson(t).clients(t).Image(t)
	for _, c := range []struct {
		visibility     images.ImageVisibility
		reached, shown bool
	}{
		{images.ImageVisibilityPrivate, false, false},
		{images.ImageVisibilityShared, false, false},
		{images.ImageVisibilityCommunity, true, false},
	} {
		v := newImage(t, images.CreateOpts{Visibility: &c.visibility})
		_, err := images.Get(t.Context(), guest, v.ID).Extract()
		if (err == nil) != c.reached {
			t.Errorf("%s: got %v", c.visibility, err)
		}
		if got := ids(t, guest, "")[v.ID]; got != c.shown {
			t.Errorf("%s: listed is %t", c.visibility, got)
		}
		if c.visibility == images.ImageVisibilityCommunity && !ids(t, guest, "visibility=community")[v.ID] {
			t.Error("community images are not listed when asked for")
		}
		if c.visibility != images.ImageVisibilityShared {
			_, err := members.Create(t.Context(), member(t).Image(t), v.ID, "other").Extract()
			wantStatus(t, err, http.StatusForbidden)
		}
	}
}

func TestImageTagsAndSchemas(t *testing.T) {
	t.Parallel()
	client := member(t).Image(t)
	v := newImage(t, images.CreateOpts{})
	at := client.ServiceURL("images", v.ID, "tags", "blue")
	for _, c := range []struct {
		method string
		want   int
	}{{"PUT", 204}, {"PUT", 204}, {"DELETE", 204}, {"DELETE", 404}} {
		if got := raw(t, c.method, at, client.Token(), "", nil).status; got != c.want {
			t.Errorf("%s tag: %d, want %d", c.method, got, c.want)
		}
	}
	for _, name := range []string{"image", "images", "member", "members"} {
		schema := raw(t, "GET", client.ServiceURL("schemas", name), client.Token(), "", nil)
		if schema.status != http.StatusOK || schema.at("name") != name || schema.at("properties") == nil {
			t.Errorf("schema %s: %d %.80s", name, schema.status, schema.text)
		}
	}
	if info := must[*imageimport.ImportInfo](t)(imageimport.Get(t.Context(), client).Extract()); len(info.ImportMethods.Value) == 0 {
		t.Error("no import methods")
	}
	versions := raw(t, "GET", client.Endpoint, "", "", nil)
	if versions.status != http.StatusMultipleChoices && versions.status != http.StatusOK {
		t.Errorf("versions: %d", versions.status)
	}
}
