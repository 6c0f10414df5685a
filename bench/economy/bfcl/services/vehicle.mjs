import { pairKey } from './pair-key.mjs';
import { flag, list, number, object, text, whole } from './schemas.mjs';

const DOORS = ['driver', 'passenger', 'rear_left', 'rear_right'];
const LOCK = 'One of "locked", "unlocked".';
const BRAKE = 'One of "engaged", "released".';
const PEDAL = 'One of "pressed", "released".';
const LITERS = 3.785_412;
const ZIP_CODES = {
  Rivermist: '83214',
  Stonebrook: '74532',
  'San Francisco': '94016',
  Silverpine: '62947',
  Oakendale: '47329',
  'Crescent Hollow': '69238',
  Autumnville: '51479',
};
const DISTANCES = {
  '83214-94016': 980,
  '74532-83214': 750,
  '62947-94016': 780,
  '74532-94016': 880,
  '47329-62947': 470,
  '51479-69238': 630,
};
const PEDAL_RESULT = {
  brakePedalStatus: text(`How the brake pedal stands. ${PEDAL}`),
  brakePedalForce: number('Force on the brake pedal, in newtons.'),
};
const door = (what) => text(`How the ${what} door is. ${LOCK}`);
const tire = (what) => number(`Pressure of the ${what} tire, in psi.`);

/** @type {import('./schemas.mjs').Service} */
export const vehicle = {
  about:
    'One of the tools of the control system of a car, with which its driver works the engine, the doors, the lights, the climate, the brakes and other parts of it. What this tool does:',
  open: ({ fuel = 10, doors = 'unlocked', tires = [32, 32, 30, 30] } = {}) => ({
    fuel,
    tires,
    doors: Object.fromEntries(DOORS.map((name) => [name, doors])),
    brake: 'released',
    pedal: 'released',
    engine: 'stopped',
  }),
  tools: [
    {
      name: 'activateParkingBrake',
      does: 'Works the parking brake of the car.',
      takes: { mode: text('What is done with it. One of "engage", "release".') },
      gives: {
        parkingBrakeStatus: text(`How the brake stands. ${BRAKE}`),
        _parkingBrakeForce: number('Force on the brake, in newtons.'),
        _slopeAngle: number('Angle of the slope, in degrees.'),
      },
      run: (state, { mode }) => {
        state.brake = `${mode}d`;
        return { parkingBrakeStatus: state.brake, _parkingBrakeForce: 100, _slopeAngle: 10 };
      },
    },
    {
      name: 'adjustClimateControl',
      does: 'Sets the climate in the car.',
      takes: {
        temperature: number('The temperature to set, in degrees. Celsius by default.'),
        unit: text('Unit of the temperature. One of "celsius", "fahrenheit".', { default: 'celsius' }),
        fanSpeed: whole('Speed of the fan, 0 to 100. 50 by default.', { default: 50 }),
        mode: text('How the climate is made. One of "auto", "cool", "heat", "defrost".', { default: 'auto' }),
      },
      gives: {
        currentTemperature: number('The temperature that is set, in degrees Celsius.'),
        climateMode: text('How the climate is made now.'),
        humidityLevel: number('Humidity, in percent.'),
      },
      run: (_, { temperature, mode }) => ({ currentTemperature: temperature, climateMode: mode, humidityLevel: 50 }),
    },
    {
      name: 'check_tire_pressure',
      does: 'Measures the pressure of the tires of the car.',
      takes: {},
      gives: {
        tirePressure: object(
          {
            frontLeftTirePressure: tire('front left'),
            frontRightTirePressure: tire('front right'),
            rearLeftTirePressure: tire('rear left'),
            rearRightTirePressure: tire('rear right'),
            healthy_tire_pressure: flag('True where the pressure is as it should be.'),
            car_info: { type: 'object', description: 'What is known of the car.' },
          },
          { description: 'The pressure of each tire.' },
        ),
      },
      as: 'tires',
      run: ({ tires: [frontLeft, frontRight, rearLeft, rearRight] }) => ({
        tirePressure: {
          frontLeftTirePressure: frontLeft,
          frontRightTirePressure: frontRight,
          rearLeftTirePressure: rearLeft,
          rearRightTirePressure: rearRight,
          healthy_tire_pressure: [frontLeft, frontRight, rearLeft, rearRight].every((psi) => psi >= 32 && psi <= 35),
          car_info: {},
        },
      }),
    },
    {
      name: 'displayCarStatus',
      does: 'Shows how one part of the car is, the one that is asked for.',
      takes: {
        option: text(
          'The part to show. One of "fuel", "battery", "doors", "climate", "headlights", "parkingBrake", "brakePedal", "engine".',
        ),
      },
      gives: {
        status: object(
          {
            fuelLevel: number('Fuel in the tank, in gallons.'),
            batteryVoltage: number('Voltage of the battery, in volts.'),
            doorStatus: object(
              {
                driver: door('driver'),
                passenger: door('passenger'),
                rear_left: door('rear left'),
                rear_right: door('rear right'),
              },
              { description: 'How the doors are.' },
            ),
            currentACTemperature: number('The temperature that is set, in degrees Celsius.'),
            fanSpeed: whole('Speed of the fan, 0 to 100.'),
            climateMode: text('How the climate is made. One of "auto", "cool", "heat", "defrost".'),
            humidityLevel: number('Humidity, in percent.'),
            headlightStatus: text('How the headlights are. One of "on", "off".'),
            parkingBrakeStatus: text(`How the parking brake stands. ${BRAKE}`),
            parkingBrakeForce: number('Force on the parking brake, in newtons.'),
            slopeAngle: number('Angle of the slope, in degrees.'),
            brakePedalStatus: text(`How the brake pedal stands. ${PEDAL}`),
            brakePedalForce: number('Force on the brake pedal, in newtons.'),
            engineState: text('How the engine is. One of "running", "stopped".'),
            metadata: text('What is known of the car.'),
          },
          {
            description: 'The part that was asked for, and no other.',
            optional: [
              'fuelLevel',
              'batteryVoltage',
              'doorStatus',
              'currentACTemperature',
              'fanSpeed',
              'climateMode',
              'humidityLevel',
              'headlightStatus',
              'parkingBrakeStatus',
              'parkingBrakeForce',
              'slopeAngle',
              'brakePedalStatus',
              'brakePedalForce',
              'engineState',
              'metadata',
            ],
          },
        ),
      },
      as: 'car',
      run: (state, { option }) => ({ status: partOf(state, option) }),
    },
    {
      name: 'display_log',
      does: 'Shows messages of the log.',
      takes: { messages: list('string', 'The messages to show.') },
      gives: { log: list('string', 'The messages that are shown.') },
      as: 'log',
      run: (_, { messages }) => ({ log: messages }),
    },
    {
      name: 'estimate_distance',
      does: 'Estimates how far one city is from another.',
      takes: { cityA: text('Zip code of one city.'), cityB: text('Zip code of the other one.') },
      gives: {
        distance: number('How far both are apart, in km.'),
        intermediaryCities: list('string', 'Cities on the way between both, where they are known.'),
      },
      mayLack: ['intermediaryCities'],
      as: 'way',
      run: (_, { cityA, cityB }) => ({ distance: DISTANCES[pairKey(cityA, cityB)], intermediaryCities: [] }),
    },
    {
      name: 'estimate_drive_feasibility_by_mileage',
      does: 'Estimates whether the fuel of the car is enough for a distance.',
      takes: { distance: number('The distance to drive, in miles.') },
      gives: { canDrive: flag('True where the car can drive so far.') },
      as: 'range',
      run: ({ fuel }, { distance }) => ({ canDrive: distance <= 20 * fuel }),
    },
    {
      name: 'fillFuelTank',
      does: 'Fills fuel into the tank of the car, which holds 50 gallons at most.',
      takes: { fuelAmount: number('How much fuel is filled in, in gallons, beside what is in the tank.') },
      gives: { fuelLevel: number('Fuel in the tank, in gallons.') },
      run: (state, { fuelAmount }) => {
        state.fuel += fuelAmount;
        return { fuelLevel: state.fuel };
      },
    },
    {
      name: 'find_nearest_tire_shop',
      does: 'Finds the tire shop that is nearest.',
      takes: {},
      gives: { shopLocation: text('Where the nearest tire shop is.') },
      as: 'shop',
      run: () => ({ shopLocation: '456 Oakwood Avenue, Rivermist, 83214' }),
    },
    {
      name: 'gallon_to_liter',
      does: 'Converts gallons into liters.',
      takes: { gallon: number('How many gallons are converted.') },
      gives: { liter: number('How many liters they are.') },
      as: 'liters',
      run: (_, { gallon }) => ({ liter: gallon * LITERS }),
    },
    {
      name: 'get_current_speed',
      does: 'Tells how fast the car goes.',
      takes: {},
      gives: { currentSpeed: number('Speed of the car, in km/h.') },
      as: 'speed',
      run: () => ({ currentSpeed: 0 }),
    },
    {
      name: 'get_outside_temperature_from_google',
      does: 'Tells how warm it is outside.',
      takes: {},
      gives: { outsideTemperature: number('Temperature outside, in degrees Celsius.') },
      as: 'outside',
      run: () => ({ outsideTemperature: 31.4 }),
    },
    {
      name: 'get_outside_temperature_from_weather_com',
      does: 'Tells how warm it is outside.',
      takes: {},
      gives: { outsideTemperature: number('Temperature outside, in degrees Celsius.') },
      as: 'outside',
      run: () => ({ outsideTemperature: 31.4 }),
    },
    {
      name: 'get_zipcode_based_on_city',
      does: 'Gives the zip code of a city.',
      takes: { city: text('Name of the city.') },
      gives: { zipcode: text('Zip code of the city.') },
      as: 'zip',
      isPassedOn: true,
      run: (_, { city }) => ({ zipcode: ZIP_CODES[city] }),
    },
    {
      name: 'liter_to_gallon',
      does: 'Converts liters into gallons.',
      takes: { liter: number('How many liters are converted.') },
      gives: { gallon: number('How many gallons they are.') },
      as: 'gallons',
      run: (_, { liter }) => ({ gallon: liter / LITERS }),
    },
    {
      name: 'lockDoors',
      does: 'Locks doors of the car, or unlocks them.',
      takes: {
        unlock: flag('True where the doors are to be unlocked.'),
        door: list(
          'string',
          'The doors to lock or to unlock. Any of "driver", "passenger", "rear_left", "rear_right".',
        ),
      },
      gives: {
        lockStatus: text(`How the doors are. ${LOCK}`),
        remainingUnlockedDoors: whole('How many doors are unlocked still.'),
      },
      run: (state, { unlock, door: doors }) => {
        const lockStatus = unlock ? 'unlocked' : 'locked';
        for (const name of doors) state.doors[name] = lockStatus;
        const open = Object.values(state.doors).filter((status) => status === 'unlocked');
        return { lockStatus, remainingUnlockedDoors: open.length };
      },
    },
    {
      name: 'pressBrakePedal',
      does: 'Presses the brake pedal down to a position, where it stays until it is released.',
      takes: { pedalPosition: number('Position of the pedal, from 0 (not pressed) to 1 (pressed all the way down).') },
      gives: PEDAL_RESULT,
      run: (state, { pedalPosition }) => {
        state.pedal = 'pressed';
        return { brakePedalStatus: state.pedal, brakePedalForce: 1_000 * pedalPosition };
      },
    },
    {
      name: 'releaseBrakePedal',
      does: 'Releases the brake pedal of the car.',
      takes: {},
      gives: PEDAL_RESULT,
      run: (state) => {
        state.pedal = 'released';
        return { brakePedalStatus: state.pedal, brakePedalForce: 0 };
      },
    },
    {
      name: 'setCruiseControl',
      does: 'Sets the cruise control of the car.',
      takes: {
        speed: number('The speed to hold, in m/h. It is between 0 and 120, and a multiple of 5.'),
        activate: flag('True to switch cruise control on, false to switch it off.'),
        distanceToNextVehicle: number('How far the car stays behind the next one, in meters.'),
      },
      gives: {
        cruiseStatus: text('How cruise control is. One of "active", "inactive".'),
        currentSpeed: number('Speed of the car, in km/h.'),
        distanceToNextVehicle: number('How far the next car is, in meters.'),
      },
      run: (_, { speed, distanceToNextVehicle }) => ({
        cruiseStatus: 'active',
        currentSpeed: speed,
        distanceToNextVehicle,
      }),
    },
    {
      name: 'setHeadlights',
      does: 'Switches the headlights of the car.',
      takes: { mode: text('What is done with the headlights. One of "on", "off", "auto".') },
      gives: { headlightStatus: text('How the headlights are. One of "on", "off".') },
      run: (_, { mode }) => ({ headlightStatus: mode }),
    },
    {
      name: 'set_navigation',
      does: 'Guides the driver to a place.',
      takes: { destination: text('Where to go, as street, city and state.') },
      gives: { status: text('How it went, as a sentence.') },
      run: (_, { destination }) => ({ status: `Navigating to ${destination}` }),
    },
    {
      name: 'startEngine',
      does: 'Starts the engine of the car.',
      takes: { ignitionMode: text('How the ignition is used. One of "START", "STOP".') },
      gives: {
        engineState: text('How the engine is. One of "running", "stopped".'),
        fuelLevel: number('Fuel in the tank, in gallons.'),
        batteryVoltage: number('Voltage of the battery, in volts.'),
      },
      as: 'engine',
      changes: true,
      run: (state) => {
        if (state.pedal !== 'pressed') throw new Error('The brake pedal must be pressed before the engine is started.');
        state.engine = 'running';
        return { engineState: state.engine, fuelLevel: state.fuel, batteryVoltage: 12.6 };
      },
    },
  ],
};

function partOf(state, option) {
  const parts = {
    fuel: { fuelLevel: state.fuel },
    doors: { doorStatus: { ...state.doors } },
    climate: { currentACTemperature: 25, fanSpeed: 50, climateMode: 'auto', humidityLevel: 50 },
  };
  return parts[option];
}
