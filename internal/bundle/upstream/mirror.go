package upstream

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/slipway-sh/slipway/internal/fault"
)

// mirror says where to fetch what begins with from.
type mirror struct{ from, to string }

// mirrors are sorted by the length of from, longest first.
type mirrors struct{ urls, registries []mirror }

func parseMirrors(given map[string]string) (mirrors, error) {
	var m mirrors
	var problems []error
	for from, to := range given {
		one := mirror{strings.TrimRight(from, "/"), strings.TrimRight(to, "/")}
		isURL := strings.Contains(from, "://")
		var err error
		if isURL {
			err = errors.Join(checkBase(one.from), checkBase(one.to))
			m.urls = append(m.urls, one)
		} else {
			err = errors.Join(checkRegistry(one.from), checkRegistry(one.to))
			if rest, ok := strings.CutPrefix(one.from, "docker.io"); ok && (rest == "" || rest[0] == '/') {
				one.from = name.DefaultRegistry + rest // what references call it
			}
			m.registries = append(m.registries, one)
		}
		if err != nil {
			problems = append(problems, fault.Usage("mirror "+redacted(from), err, "give URL=URL, or REGISTRY=REGISTRY[/PATH]"))
		}
	}
	longest := func(a, b mirror) int { return cmp.Compare(len(b.from), len(a.from)) }
	slices.SortFunc(m.urls, longest)
	slices.SortFunc(m.registries, longest)
	return m, errors.Join(problems...)
}

func checkBase(base string) error {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.RawQuery+u.Fragment != "" {
		return fmt.Errorf("%q is not a base URL", redacted(base))
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return fmt.Errorf("%q: %w", redacted(base), errPlainHTTP)
	}
	return nil
}

func checkRegistry(base string) error {
	host, _, _ := strings.Cut(base, "/")
	if strings.Contains(base, "://") || host == "" {
		return fmt.Errorf("%q is no registry", redacted(base))
	}
	if _, err := name.NewRepository(base+"/slipway/bundle", name.StrictValidation); err != nil {
		return fmt.Errorf("%q is no registry", base)
	}
	return nil
}

// file is where to fetch a URL from.
func (m mirrors) file(url string) string { return replace(m.urls, url) }

// image is where to fetch HOST/PATH from.
func (m mirrors) image(repository string) string { return replace(m.registries, repository) }

func replace(list []mirror, what string) string {
	for _, one := range list {
		if rest, ok := strings.CutPrefix(what, one.from); ok && (rest == "" || rest[0] == '/') {
			return one.to + rest
		}
	}
	return what
}

// redacted hides the password of a URL; what is no URL stays.
func redacted(text string) string {
	if u, err := url.Parse(text); err == nil && u.User != nil {
		return u.Redacted()
	}
	return text
}
