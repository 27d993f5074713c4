package cookbook

import (
	"context"
	"errors"

	"example.com/cookbook/trip"
)

// agency books at other companies. Each call may be repeated: the trip's id is its idempotency key.
type agency interface {
	BookFlight(ctx context.Context, tripID string) (number string, err error)
	BookHotel(ctx context.Context, tripID string) (number string, err error)
	CancelFlight(ctx context.Context, tripID, number string) error
}

// errFull is an answer for good: there is no use in asking again.
var errFull = errors.New("full")

// advance makes the next step of each trip. A program that died makes the same step again when it is restarted.
func advance(ctx context.Context, trips *trip.Machine, at agency) error {
	for t, err := range trips.List(ctx, trip.StateFlightWanted, trip.StateHotelWanted, trip.StateFlightUnwanted) {
		if err != nil {
			return err
		}
		next, err := trip.Hold(trips, t, "saga")
		if err == nil {
			err = step(ctx, next, at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func step(ctx context.Context, next trip.AnyTrip, at agency) error {
	switch t := next.(type) {
	case trip.FlightWantedTrip:
		number, err := at.BookFlight(ctx, t.Record().ID)
		switch {
		case errors.Is(err, errFull):
			_, err = t.FlightRefused(ctx)
		case err == nil:
			_, err = t.FlightBooked(ctx, trip.FlightBookedInput{Flight: number})
		}
		return err
	case trip.HotelWantedTrip:
		number, err := at.BookHotel(ctx, t.Record().ID)
		switch {
		case errors.Is(err, errFull):
			_, err = t.HotelRefused(ctx) // the flight has to be cancelled
		case err == nil:
			_, err = t.HotelBooked(ctx, trip.HotelBookedInput{Hotel: number})
		}
		return err
	case trip.FlightUnwantedTrip:
		err := at.CancelFlight(ctx, t.Record().ID, t.Flight())
		if err == nil {
			_, err = t.FlightCancelled(ctx)
		}
		return err
	case trip.BookedTrip, trip.CancelledTrip:
	}
	return nil
}
