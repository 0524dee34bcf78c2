package runpod

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/rental"
)

// A gpuType is a model of GPU in the catalogue.
type gpuType struct {
	ID           string
	Memory       int64 // GB
	Price        struct{ Secure, Community decimal.Decimal }
	MaxCount     struct{ Secure, Community int }
	Availability string
	DataCenters  []struct{ ID, Availability string }
}

// model is a GPU's id as people say it: "RTX 4090".
func model(id string) string {
	return strings.TrimPrefix(strings.TrimPrefix(id, "NVIDIA "), "GeForce ")
}

// version is one of CUDA as the service takes it: "12.4".
func version(v string) string {
	if parts := strings.Split(v+".0", "."); v != "" {
		return parts[0] + "." + parts[1]
	}
	return ""
}

// levels are how much of something there is, most first. The catalogue reserves nothing.
var levels = []string{"HIGH", "MEDIUM", "LOW"}

// idOf names a candidate: one GPU type at one place.
func idOf(cloud, place, gpu string) string { return cloud + "/" + place + "/" + gpu }

func readID(id string) (cloud, place, gpu string, ok bool) {
	parts := strings.SplitN(id, "/", 3)
	if len(parts) != 3 {
		return "", "", "", false
	}
	return parts[0], parts[1], parts[2], true
}

// Offers are the candidates that fit: a GPU type in each data centre that has it,
// cheapest first, and of one price where there is most.
func (c *Client) Offers(ctx context.Context, w rental.Want) ([]rental.Offer, error) {
	q := url.Values{"include": {"AVAILABILITY"}, "product": {"POD"}, "count": {strconv.Itoa(w.GPUs)}, "cloud": {c.Cloud}}
	if w.CUDA != "" {
		q.Set("minCudaVersion", version(w.CUDA))
	}
	var a struct{ GPUs *[]gpuType }
	if err := c.call(ctx, http.MethodGet, "/v2/catalog/gpus", q, nil, &a); err != nil {
		return nil, forbidden(err, "read the catalogue")
	}
	if a.GPUs == nil {
		return nil, c.api.Unreachable(errors.New("a catalogue without GPUs in it"))
	}
	centers, err := c.centers(ctx)
	if err != nil {
		return nil, err
	}
	var out []rental.Offer
	for _, t := range *a.GPUs {
		if !w.Allows(model(t.ID)) {
			continue
		}
		out = append(out, c.candidates(t, w, centers)...)
	}
	slices.SortStableFunc(out, func(a, b rental.Offer) int { return a.USDPerHour.Cmp(b.USDPerHour) })
	return out, nil
}

// centers are the data centres that may be rented in; nil = any.
func (c *Client) centers(ctx context.Context) ([]string, error) {
	if c.Volume == "" {
		return c.DataCenters, nil
	}
	var v struct{ DataCenter string }
	err := c.call(ctx, http.MethodGet, "/v2/network-volumes/"+url.PathEscape(c.Volume), nil, nil, &v)
	switch {
	case rental.ProblemOf(err).Status == http.StatusNotFound:
		return nil, &providers.Error{Class: providers.Invalid, Summary: "RunPod knows no network volume " + c.Volume, Hint: "network_volume is the volume's id, as the console shows it."}
	case err != nil:
		return nil, forbidden(err, "read network volumes")
	case len(c.DataCenters) > 0 && !slices.Contains(c.DataCenters, v.DataCenter):
		return nil, providers.Errorf(providers.Invalid, "Network volume %s is in %s, and data_centers are %s", c.Volume, v.DataCenter, strings.Join(c.DataCenters, ", "))
	}
	return []string{v.DataCenter}, nil
}

// candidates are where a GPU type can be had.
func (c *Client) candidates(t gpuType, w rental.Want, centers []string) (out []rental.Offer) {
	price, most := t.Price.Secure, t.MaxCount.Secure
	if c.Cloud == community {
		price, most = t.Price.Community, t.MaxCount.Community
	}
	if !price.IsPositive() || most < w.GPUs {
		return nil
	}
	container, kept := c.disks(w.Disk)
	o := rental.Offer{GPU: model(t.ID), GPUs: w.GPUs, GPUMemory: t.Memory * gb, CUDA: w.CUDA, StoppedUSDPerHour: hourly(kept, stoppedPrice),
		USDPerHour: price.Mul(decimal.NewFromInt(int64(w.GPUs))).Add(hourly(container+kept, diskPrice))}
	at := func(place string) rental.Offer {
		o.ID, o.Machine, o.Place = idOf(c.Cloud, place, t.ID), place+"/"+t.ID, place
		return o
	}
	if len(t.DataCenters) == 0 && len(centers) == 0 && slices.Contains(levels, t.Availability) {
		return []rental.Offer{at("")}
	}
	for _, level := range levels {
		for _, d := range t.DataCenters {
			if d.Availability == level && (len(centers) == 0 || slices.Contains(centers, d.ID)) {
				out = append(out, at(d.ID))
			}
		}
	}
	return out
}
