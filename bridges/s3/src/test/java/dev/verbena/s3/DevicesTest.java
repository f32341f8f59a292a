package dev.verbena.s3;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.s3.server.Gate;
import dev.verbena.s3.server.Profile;
import dev.verbena.verbs.Device;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import software.amazon.awssdk.services.s3.S3Client;

/** Devices that fail, are removed and come back, and several of them. */
class DevicesTest {
  private static final int SIZE = 1 << 20;
  private static final byte[] DATA = Rig.random(SIZE);
  private static final String RANGE = "bytes=0-" + (SIZE - 1);
  private static final int EIO = 5;

  private final AtomicLong nanos = new AtomicLong();
  private final Map<String, Device> devices = new HashMap<>();
  private Rig rig;

  @BeforeEach
  void open() throws Exception {
    rig = new Rig(Profile.SPEC);
    Pause.use(nanos::get);
    Program.store(rig, DATA);
    devices.put("client", rig.device);
    Devices.use(() -> List.copyOf(devices.values()));
  }

  @AfterEach
  void close() {
    Pause.use(System::nanoTime);
    rig.close();
  }

  private void useTwo() {
    addSecond();
    rig.settings.put("device", "client,second");
  }

  private void addSecond() {
    devices.put("second", rig.network.addDevice("second", InetAddress.ofLiteral("127.0.0.3")));
  }

  private void pass() {
    nanos.addAndGet(400_000_000_000L);
  }

  /** Returns how many of two calls go by RDMA. */
  private long readTwice(Program program) {
    long before = rig.counter(S3Counter.GET);
    assertArrayEquals(DATA, program.read(RANGE));
    assertArrayEquals(DATA, program.read(RANGE));
    return rig.counter(S3Counter.GET) - before;
  }

  /** Returns the addresses of devices that servers were sent. */
  private long gids() {
    return Program.tokens(rig).stream().map(t -> t.substring(t.length() - 32)).distinct().count();
  }

  private int contexts() {
    return rig.network.openObjects().get("context");
  }

  @Test
  void devicesTakeTurns() {
    useTwo();
    Program program = Program.of(rig, false);
    assertEquals(2, readTwice(program));
    assertEquals(2, gids());
    assertEquals(2, rig.counter(S3Counter.REGISTRATIONS), "a buffer of each");
    assertEquals(2, readTwice(program));
    assertEquals(2, rig.counter(S3Counter.REGISTRATIONS));
  }

  @ParameterizedTest
  @ValueSource(strings = {"client,absent", "absent,client", "client,client", "client:1"})
  void namesOfDevices(String names) {
    rig.settings.put("device", names);
    int before = contexts();
    Program program = Program.of(rig, false);
    assertEquals(2, readTwice(program));
    assertEquals(1, gids());
    assertEquals(1, rig.counter(S3Counter.REGISTRATIONS));
    assertEquals(before + 1, contexts());
  }

  @ParameterizedTest
  @ValueSource(strings = {"client:x", "client:-1", "client:1:2", ":1", "client:"})
  void namesThatAreNone(String names) {
    rig.settings.put("device", names);
    var refused = assertThrows(IllegalArgumentException.class, rig::settings);
    assertTrue(refused.getMessage().contains("dev.verbena.s3.device: " + names), refused::toString);
  }

  @Test
  void aDeviceThatWasRemovedIsOpenedAgainWhileAnotherOneIsUsed() throws Exception {
    useTwo();
    Program program = Program.of(rig, false);
    assertEquals(2, readTwice(program));
    int before = contexts();
    rig.network.removeDevice("second");
    devices.remove("second");
    for (int i = 0; i < 3; i++) {
      pass();
      readTwice(program); // The loss is noticed at some time.
    }
    pass();
    assertEquals(2, readTwice(program), "by the other one");
    Until.holds("the removed one is closed", () -> contexts() == before - 1);
    addSecond();
    pass();
    rig.server.requests().clear();
    assertEquals(2, readTwice(program));
    assertEquals(2, gids());
  }

  @Test
  void aDeviceThatCannotRegisterIsNotInTheWay() {
    useTwo();
    Program program = Program.of(rig, false);
    rig.network.faults().fail("ibv_reg_mr", 1, EIO);
    assertEquals(2, readTwice(program));
    assertEquals(0, rig.counter(S3Counter.DECLINED_BY_DEVICE));
  }

  @Test
  void aBufferThatCannotBeRegisteredIsCopied() {
    Program.of(rig, false).put(DATA); // Registers memory for its copy.
    try (S3Buffer buffer = S3Rdma.allocate(SIZE)) {
      buffer.segment().copyFrom(MemorySegment.ofArray(DATA));
      rig.network.faults().fail("ibv_reg_mr", 1, EIO);
      rig.client().putObject(buffer.in(Program.put().build()), buffer.body());
    }
    assertArrayEquals(DATA, rig.stored(Program.KEY));
    assertEquals(2, rig.counter(S3Counter.PUT));
    assertEquals(1, rig.counter(S3Counter.REGISTRATIONS));
  }

  /** The server may still read it. */
  @Test
  void aBufferThatCannotBeDeregisteredIsClosedLater() {
    rig.server.profile(Profile.DECLINES_BY_ERROR);
    S3Buffer buffer = S3Rdma.allocate(SIZE);
    buffer.segment().copyFrom(MemorySegment.ofArray(DATA));
    rig.network.faults().fail("ibv_dereg_mr", 1, EIO);
    rig.client().putObject(buffer.in(Program.put().build()), buffer.body());
    assertArrayEquals(DATA, rig.stored(Program.KEY));
    rig.server.profile(Profile.SPEC);
    pass();
    rig.client().putObject(buffer.in(Program.put().build()), buffer.body());
    assertEquals(2, rig.counter(S3Counter.REGISTRATIONS), "of the copy");
    buffer.close();
    assertFalse(buffer.segment().scope().isAlive());
  }

  @Test
  void aPortThatIsDownAtFirstIsNotUsed() throws Exception {
    useTwo();
    rig.network.faults().portDown("second", 1);
    Program program = Program.of(rig, false);
    assertEquals(2, readTwice(program));
    assertEquals(1, gids());
    rig.network.faults().portUp("second", 1);
    Until.holds(
        "the port is used",
        () -> {
          assertEquals(2, readTwice(program));
          return gids() == 2;
        });
  }

  @Test
  void aBufferGoesByAnotherDevice() throws Exception {
    useTwo();
    S3Client client = rig.client();
    try (S3Buffer buffer = S3Rdma.allocate(SIZE)) {
      buffer.segment().copyFrom(MemorySegment.ofArray(DATA));
      client.putObject(buffer.in(Program.put().build()), buffer.body());
      client.putObject(buffer.in(Program.put().build()), buffer.body());
      assertEquals(1, rig.counter(S3Counter.REGISTRATIONS));
      assertEquals(1, gids());
      Rail first = buffer.rail();
      rig.network.faults().portDown(first.toString(), 1);
      Until.holds("the port is down", () -> !first.isUsable());
      client.putObject(buffer.in(Program.put().build()), buffer.body());
      assertNotNull(buffer.rail());
      assertTrue(buffer.rail() != first);
    }
    assertArrayEquals(DATA, rig.stored(Program.KEY));
    assertEquals(3, rig.counter(S3Counter.PUT));
    assertEquals(2, gids());
  }

  @Test
  void aDeviceIsRemovedAndComesBack() throws Exception {
    Program program = Program.of(rig, false);
    var stream = rig.client().getObject(Program.get(RANGE).build()); // Keeps memory of the device.
    Gate gate = rig.server.faults().holdBeforeTransfer(2);
    var read = new FutureTask<>(() -> program.read(RANGE));
    Thread.ofPlatform().start(read);
    gate.awaitRequest();
    var write =
        new FutureTask<Void>(
            () -> {
              program.put(DATA);
              return null;
            });
    Thread.ofPlatform().start(write);
    gate.awaitRequest();
    rig.network.removeDevice("client");
    gate.open();
    assertArrayEquals(DATA, read.get());
    write.get();
    assertArrayEquals(DATA, rig.stored(Program.KEY));
    assertArrayEquals(DATA, stream.readAllBytes());
    stream.close();
    nanos.addAndGet(400_000_000_000L);
    assertArrayEquals(DATA, program.read(RANGE)); // By HTTP.
    program.put(DATA);
    var again = rig.network.addDevice("client", InetAddress.ofLiteral("127.0.0.1"));
    Devices.use(() -> List.of(again));
    nanos.addAndGet(400_000_000_000L);
    long before = rig.counter(S3Counter.GET);
    assertArrayEquals(DATA, program.read(RANGE));
    assertEquals(before + 1, rig.counter(S3Counter.GET));
    Until.holds("the memory is given back", () -> rig.used().bytes() == rig.used().freeBytes());
  }

  @Test
  void aPortGoesDownAndComesBack() throws Exception {
    Program program = Program.of(rig, false);
    program.read(RANGE);
    rig.network.faults().portDown("client", 1);
    Until.holds(
        "the port is down",
        () -> {
          nanos.addAndGet(400_000_000_000L);
          assertArrayEquals(DATA, program.read(RANGE));
          return rig.counter(S3Counter.DECLINED_BY_DEVICE) > 0;
        });
    rig.network.faults().portUp("client", 1);
    long before = rig.counter(S3Counter.GET);
    Until.holds(
        "the port is used",
        () -> {
          nanos.addAndGet(400_000_000_000L);
          assertArrayEquals(DATA, program.read(RANGE));
          return rig.counter(S3Counter.GET) > before;
        });
  }
}
