package loadbalancer

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
)

// monitorChange is what an update may change.
type monitorChange struct {
	lifeInput
	Delay          api.Optional[int]     `json:"delay"`
	Timeout        api.Optional[int]     `json:"timeout"`
	MaxRetries     api.Optional[int]     `json:"max_retries"`
	MaxRetriesDown api.Optional[int]     `json:"max_retries_down"`
	HTTPMethod     api.Optional[string]  `json:"http_method"`
	URLPath        api.Optional[string]  `json:"url_path"`
	ExpectedCodes  api.Optional[string]  `json:"expected_codes"`
	HTTPVersion    api.Optional[decimal] `json:"http_version"`
	DomainName     api.Optional[string]  `json:"domain_name"`
}

// monitorInput is a health monitor to create, alone or with its pool.
type monitorInput struct {
	monitorChange
	Type      string               `json:"type"`
	PoolID    api.Optional[string] `json:"pool_id"`
	ProjectID api.Optional[string] `json:"project_id"`
	TenantID  api.Optional[string] `json:"tenant_id"`
}

// decimal is a number that may be written as text.
type decimal float64

// UnmarshalJSON reads 1.1 and "1.1".
func (d *decimal) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	*d = decimal(v)
	if err != nil {
		return invalid("http_version", string(text), "Value should be a number")
	}
	return nil
}

func monitorTypes() []string {
	return []string{"HTTP", "HTTPS", "PING", "TCP", "TLS-HELLO", "UDP-CONNECT", "SCTP"}
}

// check refuses what no monitor of the pool can be.
func (in monitorInput) check(p model.Pool) error {
	if err := oneOf("type", in.Type, monitorTypes()); err != nil {
		return err
	}
	for field, value := range map[string]api.Optional[int]{"delay": in.Delay, "timeout": in.Timeout, "max_retries": in.MaxRetries} {
		if !value.Set || value.Null {
			return required(field)
		}
	}
	switch {
	case p.Protocol == "UDP" && !slices.Contains([]string{"UDP-CONNECT", "TCP", "HTTP"}, in.Type):
		return validation("The associated pool protocol is UDP, so only a health monitor of type UDP-CONNECT, TCP or HTTP is possible.")
	case p.Protocol != "UDP" && in.Type == "UDP-CONNECT":
		return validation("The UDP-CONNECT type is only supported for pools of type UDP.")
	}
	return nil
}

func (in monitorChange) apply(hm *model.HealthMonitor) error {
	set(&hm.Delay, in.Delay, hm.Delay)
	set(&hm.Timeout, in.Timeout, hm.Timeout)
	set(&hm.MaxRetries, in.MaxRetries, hm.MaxRetries)
	set(&hm.MaxRetriesDown, in.MaxRetriesDown, 3)
	setPointer(&hm.HTTPMethod, in.HTTPMethod)
	setPointer(&hm.URLPath, in.URLPath)
	setPointer(&hm.ExpectedCodes, in.ExpectedCodes)
	if in.HTTPVersion.Set {
		hm.HTTPVersion = nil
		if version := float64(in.HTTPVersion.Value); !in.HTTPVersion.Null {
			hm.HTTPVersion = &version
		}
	}
	setPointer(&hm.DomainName, in.DomainName)
	if err := in.checkHTTP(hm); err != nil {
		return err
	}
	return firstError(in.lifeInput.apply(&hm.Life), between("delay", hm.Delay, 0, 1<<31-1), between("timeout", hm.Timeout, 0, 1<<31-1),
		between("max_retries", hm.MaxRetries, 1, 10), between("max_retries_down", hm.MaxRetriesDown, 1, 10))
}

// checkHTTP fills in the defaults of checks over HTTP, and refuses their
// attributes for others. http_version is taken from all, as Octavia's check
// of it comes later and never refuses.
func (in monitorChange) checkHTTP(hm *model.HealthMonitor) error {
	if hm.Type != "HTTP" && hm.Type != "HTTPS" {
		for field, value := range map[string]*string{"http_method": hm.HTTPMethod, "url_path": hm.URLPath,
			"expected_codes": hm.ExpectedCodes, "domain_name": hm.DomainName} {
			if value != nil {
				return validation("The %s option is only supported for health monitors of type HTTP or HTTPS, not %s.", field, hm.Type)
			}
		}
		return nil
	}
	defaultText(&hm.HTTPMethod, "GET")
	defaultText(&hm.URLPath, "/")
	defaultText(&hm.ExpectedCodes, "200")
	if !strings.HasPrefix(*hm.URLPath, "/") {
		return invalid("url_path", *hm.URLPath, "URL path should start with a /")
	}
	if !regexp.MustCompile(`^\d{3}(\s*-\s*\d{3})?(\s*,\s*\d{3}(\s*-\s*\d{3})?)*$`).MatchString(*hm.ExpectedCodes) {
		return invalid("expected_codes", *hm.ExpectedCodes, "Value should be HTTP codes such as 200, 200,202 or 200-204")
	}
	if hm.HTTPVersion != nil && *hm.HTTPVersion != 1.0 && *hm.HTTPVersion != 1.1 {
		return invalid("http_version", fmt.Sprint(*hm.HTTPVersion), "Value should be one of: 1.0, 1.1")
	}
	return oneOf("http_method", *hm.HTTPMethod,
		[]string{"GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "OPTIONS", "PATCH", "CONNECT"})
}

func defaultText(v **string, def string) {
	if *v == nil {
		*v = &def
	}
}
