package cause

import (
	"cmp"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// imageRules are about what a server is made of: image, flavor, key pair.
func imageRules() []Rule {
	const fix = "; then delete the Machine that failed: kubectl delete machine NAME"
	return []Rule{
		{ID: "image-missing", Layer: "Glance", Ending: Outside, Meaning: "The image of the machines does not exist, or the project cannot see it.", kind: "image",
			Fix:   "upload it with slipway image sync, or share it with openstack image add project" + fix,
			words: regexp.MustCompile(`no images were found with the given image filter: name=(?P<object>[^,\s]+)|(?i:can not find requested image|image (?P<id>[0-9a-f-]{36}) could not be found|no image with id)`),
			not:   func(v *scene, c complaint, name string) bool { return !c.final && name != "" && v.Cloud.image(name) }, find: missingImage, fault: regexp.MustCompile(`(?i)image (?P<object>[0-9a-f-]{36}) could not be found`)},
		{ID: "image-inactive", Layer: "Glance", Ending: Outside, Meaning: "The image of the machines exists, but is not active.", kind: "image",
			Fix:   "reactivate it with openstack image set --activate IMAGE, or upload it again with slipway image sync" + fix,
			fault: regexp.MustCompile(`(?i)image (?P<object>\S+) is not active`), words: regexp.MustCompile(`(?i)image (?P<object>\S+) is not active|ImageNotActive`), find: inactiveImage},
		{ID: "flavor-missing", Layer: "Nova", Ending: Outside, Meaning: "The flavor of the machines does not exist, or the project cannot use it.", kind: "flavor",
			Fix:   "choose one of openstack flavor list, or ask the cloud's operator for access to it",
			words: regexp.MustCompile(`no flavors were found: name=(?P<object>\S+)|(?i:flavor (?P<id>\S+) could not be found)`),
			not: func(v *scene, c complaint, name string) bool {
				return !c.final && v.Cloud.knows(ListFlavors) && slices.ContainsFunc(v.Cloud.Flavors, func(f Flavor) bool { return f.Name == name })
			}, find: missingFlavor},
		{ID: "flavor-too-small", Layer: "Nova", Ending: Outside, Meaning: "The flavor of the machines has less disk or memory than the image needs.",
			Fix:   "choose a larger flavor, or lower min_disk and min_ram of the image",
			words: regexp.MustCompile(`(?i)flavor's (disk|memory|ram) is (too small|smaller)|disk is too small for (the )?(requested )?image|image is larger than|min_disk|min_ram`),
			fault: regexp.MustCompile(`(?i)flavor's (disk|memory|ram) is (too small|smaller)|disk is too small for`)},
		{ID: "key-pair-missing", Layer: "Nova", Ending: Outside, Meaning: "The key pair of the machines does not exist for the user of the credential.",
			Fix:   "create it with openstack keypair create, as the user of the cluster's credential, or leave it out" + fix,
			words: regexp.MustCompile(`(?i)invalid key_?name|key ?pair .*not (be )?found`), find: missingKeyPair},
		{ID: "server-group-refused", Layer: "Nova", Ending: Outside, Meaning: "The cloud refuses the server group of the machines.", kind: "ServerGroup",
			Fix:   "if the cloud does not have the policy, or no host that keeps it, make a server group with another one in the cluster's project, openstack --os-compute-api-version 2.15 server group create --policy POLICY GROUP, and give GROUP in serverGroup.name of the machines instead of serverGroup.policy, which replaces them; the policy of a group that is there cannot be changed",
			fault: regexp.MustCompile(`(?i)affinity .*(policy|group).* (was )?violated|server group .*(could not be found|not found)`),
			words: regexp.MustCompile(`(?i)server group .*(could not be found|not found)|no server group with name (?P<object>\S+) could be found|anti-affinity .*(violat|not)`)},
	}
}

// missingFlavor are the flavors of machines without a server that Nova does not list.
// CAPO only logs that it cannot find one.
func missingFlavor(v *scene) []hit {
	if !v.Cloud.knows(ListFlavors) {
		return nil
	}
	var hits []hit
	for _, infra := range v.waiting() {
		name := cmp.Or(text(infra, "spec", "flavor"), text(infra, "spec", "flavorID"))
		if name == "" || slices.ContainsFunc(v.Cloud.Flavors, func(f Flavor) bool { return f.Name == name || f.ID == name }) {
			continue
		}
		object := v.under(refOf(infra), Ref{Kind: "flavor", Name: name})
		hits = append(hits, hit{object: object, cause: "Nova does not offer it to the project", source: "Nova", evidence: []string{"Nova: no flavor " + name}})
	}
	return hits
}

// missingKeyPair are the key pairs of machines without a server that the user of the
// credential does not have: key pairs are of users, and not of projects.
func missingKeyPair(v *scene) []hit {
	if !v.Cloud.knows(ListKeyPairs) || v.Cloud == nil || v.Cloud.Project == "" {
		return nil
	}
	var hits []hit
	for _, infra := range v.waiting() {
		name := text(infra, "spec", "sshKeyName")
		if name == "" || slices.Contains(v.Cloud.KeyPairs, name) {
			continue
		}
		object := v.under(refOf(infra), Ref{Kind: "key pair", Name: name})
		hits = append(hits, hit{object: object, cause: "the user of the cluster's credential has no such key pair", source: "Nova", evidence: []string{"Nova: no key pair " + name}})
	}
	return hits
}

// image reports whether the cloud has an active image with a name or an id.
func (c *Cloud) image(name string) bool {
	return c.knows(ListImages) && slices.ContainsFunc(c.Images, func(i Image) bool { return (i.Name == name && !i.Unlisted || i.ID == name) && i.Status == "active" })
}

// imagesOf returns machines that have no server yet, with the image they are to have.
func (v *scene) imagesOf() map[Ref]*unstructured.Unstructured {
	found := map[Ref]*unstructured.Unstructured{}
	for _, m := range v.members {
		if m.infra == nil || m.nova != nil || m.id != "" || m.leaving() || m.answered() {
			continue
		}
		if id := text(m.infra, "spec", "image", "id"); id != "" {
			found[Ref{Kind: "image", ID: id}] = m.infra
		} else if name := text(m.infra, "spec", "image", "filter", "name"); name != "" {
			found[Ref{Kind: "image", Name: name}] = m.infra
		}
	}
	return found
}

func missingImage(v *scene) []hit {
	return v.images("", "Glance does not show it to the project")
}

func inactiveImage(v *scene) []hit {
	var hits []hit
	for _, status := range []string{"deactivated", "queued", "saving", "killed", "importing", "pending_delete", "uploading"} {
		hits = append(hits, v.images(status, "it is "+status)...)
	}
	return hits
}

// images are hits for images of machines without a server that have a status; an empty
// status means that they do not exist.
func (v *scene) images(status, words string) []hit {
	if !v.Cloud.knows(ListImages) {
		return nil
	}
	var hits []hit
	for ref, infra := range v.imagesOf() {
		i := slices.IndexFunc(v.Cloud.Images, func(i Image) bool {
			return ref.ID != "" && i.ID == ref.ID || ref.ID == "" && i.Name == ref.Name && !i.Unlisted
		})
		if i < 0 && status == "" || i >= 0 && v.Cloud.Images[i].Status == status {
			if i >= 0 {
				ref.Name = v.Cloud.Images[i].Name
			}
			hits = append(hits, hit{object: v.under(refOf(infra), ref), cause: words, source: "Glance", evidence: []string{"Glance: " + ref.String() + ": " + words}})
		}
	}
	return hits
}
