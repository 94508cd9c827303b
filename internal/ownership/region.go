package ownership

import (
	"net/url"
	"strings"
)

const (
	regionTag  = "slipway:region="
	projectTag = "slipway:project="
)

// DescriptionIn is Description for what a cloud keeps once for all of its regions, such as
// application credentials: with the region of the environment, since another one may have an
// environment of the same name. Who names no region has none in descriptions either.
func (o Owner) DescriptionIn(region string) string {
	if region == "" {
		return o.Description()
	}
	return o.Description() + " " + regionTag + url.QueryEscape(region) // a description is read word by word
}

// RegionIn reads the region from a description; "" if it has none.
func RegionIn(description string) string {
	for _, word := range strings.Fields(description) {
		value, found := strings.CutPrefix(word, regionTag)
		if !found {
			continue
		}
		if region, err := url.QueryUnescape(value); err == nil {
			return region
		}
		return value
	}
	return ""
}

// DescriptionOf is DescriptionIn for what a cloud keeps once for all of its projects too, such as
// users: with the ID of the environment's project. Who does not know it has none in descriptions.
func (o Owner) DescriptionOf(region, project string) string {
	if project == "" {
		return o.DescriptionIn(region)
	}
	return o.DescriptionIn(region) + " " + projectTag + project
}

// ProjectIn reads the project from a description; "" if it has none.
func ProjectIn(description string) string {
	for _, word := range strings.Fields(description) {
		if value, found := strings.CutPrefix(word, projectTag); found {
			return value
		}
	}
	return ""
}
