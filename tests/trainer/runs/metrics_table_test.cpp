// All records of a run as one table.
#include "trainer/runs/metrics_table.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep {
namespace {

std::vector<TelemetryRecord> two_records() {
  return {{.step = 1, .epoch = 0.5, .wall_time = 10, .train = {{"loss", NAN}}},
          {.step = 2,
           .epoch = 1,
           .wall_time = 11.5,
           .train = {{"loss", 0.1}},
           .evaluations = {{"eval/loss", 3}}}};
}

TEST(MetricsTable, HasTheUnionOfAllColumnsAsCsv) {
  EXPECT_EQ(metrics_csv(two_records()),
            "step,epoch,wall_time,train/loss,eval/loss\r\n"
            "1,0.5,10,nan,\r\n"
            "2,1,11.5,0.1,3\r\n");
}

TEST(MetricsTable, HasTheUnionOfAllColumnsAsJson) {
  EXPECT_EQ(metrics_json(two_records()),
            "[\n"
            R"({"step":1,"epoch":0.5,"wall_time":10.0,"train/loss":null,"eval/loss":null},)"
            "\n"
            R"({"step":2,"epoch":1.0,"wall_time":11.5,"train/loss":0.1,"eval/loss":3.0})"
            "\n]\n");
  EXPECT_EQ(metrics_json({}), "[\n]\n");
}

}  // namespace
}  // namespace lockstep
