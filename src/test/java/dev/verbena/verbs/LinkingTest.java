package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_context;
import dev.verbena.raw.ibv_device;
import dev.verbena.values.CompletionField;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** When calls of the data path are critical. Nothing is posted: a critical upcall ends the JVM. */
class LinkingTest {
  @TempDir private Path sysfs;

  private final RecordingDevice device = new RecordingDevice();

  @AfterEach
  void close() {
    device.close();
  }

  @ParameterizedTest
  @CsvSource({"mlx5_core, true", "irdma, true", "efa, true", "iw_cxgb3, false", "siw, false"})
  void linkingDependsOnTheDriver(String driver, boolean critical) throws IOException {
    assertEquals(critical, on(driver).criticalCalls().areAllowed());
  }

  @Test
  void deviceWithoutDriverIsLinkedPlain() {
    assertFalse(device.context.criticalCalls().areAllowed());
  }

  @Test
  void extendedQueuePairMakesAllCallsPlain() throws IOException {
    Context context = on("mlx5_core");
    CompletionQueue queue = context.createCompletionQueue(4);
    QueuePairBuilder builder =
        QueuePair.builder(context.allocateProtectionDomain(), QueuePairType.RC).completions(queue);
    builder.create();
    assertTrue(context.criticalCalls().areAllowed(), "lists are posted in one call");
    builder.sendOperations(SendOperation.SEND).create();
    assertFalse(context.criticalCalls().areAllowed());
    context.close();
  }

  @Test
  void extendedCompletionQueueMakesAllCallsPlain() throws IOException {
    Context context = on("mlx5_core");
    context.completionQueue(1).createExtended(CompletionField.BYTE_LEN);
    assertFalse(context.criticalCalls().areAllowed());
    context.close();
  }

  /** The context of a device with a driver. */
  private Context on(String driver) throws IOException {
    Path folder = Files.createDirectories(sysfs.resolve(driver));
    Files.createDirectories(sysfs.resolve("device"));
    Files.createSymbolicLink(sysfs.resolve("device/driver"), folder);
    long address =
        ibv_context
            .device(Memory.at(device.context.segment().address(), ibv_context.sizeof()))
            .address();
    ibv_device.ibdev_path(Memory.at(address, ibv_device.sizeof())).setString(0, sysfs.toString());
    return Context.borrow(device.context.provider(), device.context.segment());
  }
}
