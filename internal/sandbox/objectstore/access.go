package objectstore

import (
	"net/url"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
)

// owns reports whether the account is the caller's: members of the project
// may do everything, readers read.
func owns(c *api.Call, p place, write bool) bool {
	who := c.Principal
	if who == nil {
		return false
	}
	if who.Admin() {
		return true
	}
	return who.ProjectID == p.project && (who.Has("member") || !write && who.Has("reader"))
}

// mayRead applies a container's read list; a listing needs more than objects
// do when the list is one of referrers.
func mayRead(c *api.Call, p place, b model.Bucket, listing bool) bool {
	if owns(c, p, false) {
		return true
	}
	list := split(b.Headers["X-Container-Read"])
	if slices.ContainsFunc(list, func(entry string) bool { return names(entry, c) }) {
		return true
	}
	return referred(c.Request.Header.Get("Referer"), list) && (!listing || slices.Contains(list, ".rlistings"))
}

func mayWrite(c *api.Call, p place, b model.Bucket) bool {
	return owns(c, p, true) ||
		slices.ContainsFunc(split(b.Headers["X-Container-Write"]), func(entry string) bool { return names(entry, c) })
}

func split(list string) []string {
	var entries []string
	for _, entry := range strings.Split(list, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			entries = append(entries, entry)
		}
	}
	return entries
}

// names reports whether an entry "project:user" names the caller, by ids; "*"
// is everybody with a token. A word alone is a role.
func names(entry string, c *api.Call) bool {
	who := c.Principal
	if who == nil || strings.HasPrefix(entry, ".") {
		return false
	}
	project, user, both := strings.Cut(entry, ":")
	if !both {
		return who.Has(entry)
	}
	fits := func(part, id, name string) bool { return part == "*" || part == id || part == name }
	return fits(project, who.ProjectID, who.ProjectName) && fits(user, who.UserID(), who.User.Name)
}

// referred applies the entries ".r:host" and ".r:-host" in their order; the
// last one that fits counts.
func referred(referer string, list []string) bool {
	host := ""
	if u, err := url.Parse(referer); err == nil {
		host = u.Hostname()
	}
	allowed := false
	for _, entry := range list {
		for _, word := range []string{".r:", ".ref:", ".referer:", ".referrer:"} {
			pattern, ok := strings.CutPrefix(entry, word)
			if !ok {
				continue
			}
			pattern, not := strings.CutPrefix(pattern, "-")
			suffix, any := strings.CutPrefix(pattern, "*")
			if pattern == "*" || host != "" && (host == pattern || any && strings.HasSuffix(host, suffix) ||
				strings.HasPrefix(pattern, ".") && strings.HasSuffix(host, pattern)) {
				allowed = !not
			}
		}
	}
	return allowed
}

// checkACL refuses lists that could not be meant.
func checkACL(header, list string) error {
	for _, entry := range split(list) {
		if strings.HasPrefix(entry, ".") && (header == "X-Container-Write" || entry != ".rlistings" && !strings.HasPrefix(entry, ".r")) {
			return api.BadRequest("Unknown designator or invalid ACL entry %q in %s", entry, header)
		}
	}
	return nil
}
