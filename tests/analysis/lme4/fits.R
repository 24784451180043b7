# Print what lme4 makes of the tables of rating_tables.py, one csv each: Rscript fits.R TABLE.csv TERMS (2, 3 or 4).
suppressMessages(library(lmerTest))
a <- commandArgs(TRUE)
d <- read.csv(a[1])
for (name in c("system", "rater", "document")) d[[name]] <- factor(d[[name]])
form <- score ~ 0 + system + (1 | rater) + (1 | document)
if (a[2] > "2") form <- update(form, . ~ . + (1 | rater:system))
if (a[2] == "4") form <- update(form, . ~ . + (1 | document:system))
tight <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-9, maxfun = 1e6), check.conv.singular = "ignore")
m <- suppressMessages(suppressWarnings(lmer(form, d, REML = TRUE, control = tight)))
v <- as.data.frame(VarCorr(m))
cat(sprintf("\"deviance\": %.6f,\n", deviance(m, REML = TRUE)))
cat("\"components\": {", paste(sprintf("\"%s\": %.7f", v$grp, v$vcov), collapse = ", "), "},\n", sep = "")
cat("\"estimate\": [", paste(sprintf("%.7f", fixef(m)), collapse = ", "), "],\n", sep = "")
n <- length(fixef(m)); out <- c(); df <- c()
for (i in 1:(n - 1)) for (j in (i + 1):n) { l <- rep(0, n); l[i] <- 1; l[j] <- -1
  c1 <- suppressMessages(contest1D(m, l)); out <- c(out, c1[["Std. Error"]]); df <- c(df, c1[["df"]]) }
cat("\"error\": [", paste(sprintf("%.7f", out), collapse = ", "), "],\n", sep = "")
cat("\"freedom\": [", paste(sprintf("%.4f", df), collapse = ", "), "]\n", sep = "")
